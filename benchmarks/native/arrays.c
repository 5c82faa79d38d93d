/* The kernels of examples/kernels/ as plain C loops. Arguments as in Python, then the array that Python returns, then
 * the sizes. Without contraction the bits are those of the Python loops. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef int64_t n64;
#define GRID(name, columns) double (*name)[columns] = (double (*)[columns])name##_
#define BLOCK(name, y, z) double (*name)[y][z] = (double (*)[y][z])name##_

void jacobi_1d(n64 steps, double *a, double *b, n64 n)
{
    double weight = 1.0 / 3.0;
    for (n64 t = 0; t < steps; t++) {
        for (n64 i = 1; i < n - 1; i++)
            b[i] = weight * (a[i - 1] + a[i] + a[i + 1]);
        for (n64 i = 1; i < n - 1; i++)
            a[i] = weight * (b[i - 1] + b[i] + b[i + 1]);
    }
}

static void mean_of_five(double *a_, double *b_, n64 n, n64 m)
{
    GRID(a, m);
    GRID(b, m);
    for (n64 i = 1; i < n - 1; i++)
        for (n64 j = 1; j < m - 1; j++)
            b[i][j] = 0.2 * (a[i][j] + a[i][j - 1] + a[i][j + 1] + a[i + 1][j] + a[i - 1][j]);
}

void jacobi_2d(n64 steps, double *a, double *b, n64 n, n64 m)
{
    for (n64 t = 0; t < steps; t++) {
        mean_of_five(a, b, n, m);
        mean_of_five(b, a, n, m);
    }
}

static void heat_step(double *a_, double *b_, n64 nx, n64 ny, n64 nz)
{
    BLOCK(a, ny, nz);
    BLOCK(b, ny, nz);
    for (n64 i = 1; i < nx - 1; i++)
        for (n64 j = 1; j < ny - 1; j++)
            for (n64 k = 1; k < nz - 1; k++) {
                double x = 0.125 * (a[i + 1][j][k] - 2.0 * a[i][j][k] + a[i - 1][j][k]);
                double y = 0.125 * (a[i][j + 1][k] - 2.0 * a[i][j][k] + a[i][j - 1][k]);
                double z = 0.125 * (a[i][j][k + 1] - 2.0 * a[i][j][k] + a[i][j][k - 1]);
                b[i][j][k] = x + y + z + a[i][j][k];
            }
}

void heat_3d(n64 steps, double *a, double *b, n64 nx, n64 ny, n64 nz)
{
    for (n64 t = 0; t < steps; t++) {
        heat_step(a, b, nx, ny, nz);
        heat_step(b, a, nx, ny, nz);
    }
}

void fdtd_2d(n64 steps, double *ex_, double *ey_, double *hz_, double *source, n64 n, n64 m)
{
    GRID(ex, m);
    GRID(ey, m);
    GRID(hz, m);
    for (n64 t = 0; t < steps; t++) {
        for (n64 j = 0; j < m; j++)
            ey[0][j] = source[t];
        for (n64 i = 1; i < n; i++)
            for (n64 j = 0; j < m; j++)
                ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        for (n64 i = 0; i < n; i++)
            for (n64 j = 1; j < m; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (n64 i = 0; i < n - 1; i++)
            for (n64 j = 0; j < m - 1; j++)
                hz[i][j] = hz[i][j] - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

void upwind(n64 steps, double *c_, double *after_, double *u_, double *v_, double dt, n64 n, n64 m)
{
    GRID(c, m);
    GRID(after, m);
    GRID(u, m);
    GRID(v, m);
    for (n64 t = 0; t < steps; t++) {
        for (n64 i = 1; i < n - 1; i++)
            for (n64 j = 1; j < m - 1; j++) {
                double dx = u[i][j] > 0.0 ? c[i][j] - c[i][j - 1] : c[i][j + 1] - c[i][j];
                double dy = v[i][j] > 0.0 ? c[i][j] - c[i - 1][j] : c[i + 1][j] - c[i][j];
                after[i][j] = c[i][j] - dt * (u[i][j] * dx + v[i][j] * dy);
            }
        for (n64 i = 1; i < n - 1; i++)
            for (n64 j = 1; j < m - 1; j++)
                c[i][j] = after[i][j];
    }
}

void hdiff(double *field_, double *out_, double *strength_, n64 nx, n64 ny, n64 nz)
{
    BLOCK(field, ny + 4, nz);
    BLOCK(out, ny, nz);
    BLOCK(strength, ny, nz);
    double *curvature_ = malloc(sizeof(double) * (nx + 2) * (ny + 2) * nz);
    double *along_x_ = malloc(sizeof(double) * (nx + 1) * ny * nz);
    double *along_y_ = malloc(sizeof(double) * nx * (ny + 1) * nz);
    BLOCK(curvature, ny + 2, nz);
    BLOCK(along_x, ny, nz);
    BLOCK(along_y, ny + 1, nz);
    for (n64 i = 0; i < nx + 2; i++)
        for (n64 j = 0; j < ny + 2; j++)
            for (n64 k = 0; k < nz; k++) {
                double around = field[i + 2][j + 1][k] + field[i][j + 1][k] + field[i + 1][j + 2][k] + field[i + 1][j][k];
                curvature[i][j][k] = 4.0 * field[i + 1][j + 1][k] - around;
            }
    for (n64 i = 0; i < nx + 1; i++)
        for (n64 j = 0; j < ny; j++)
            for (n64 k = 0; k < nz; k++) {
                double flux = curvature[i + 1][j + 1][k] - curvature[i][j + 1][k];
                along_x[i][j][k] = flux * (field[i + 2][j + 2][k] - field[i + 1][j + 2][k]) > 0.0 ? 0.0 : flux;
            }
    for (n64 i = 0; i < nx; i++)
        for (n64 j = 0; j < ny + 1; j++)
            for (n64 k = 0; k < nz; k++) {
                double flux = curvature[i + 1][j + 1][k] - curvature[i + 1][j][k];
                along_y[i][j][k] = flux * (field[i + 2][j + 2][k] - field[i + 2][j + 1][k]) > 0.0 ? 0.0 : flux;
            }
    for (n64 i = 0; i < nx; i++)
        for (n64 j = 0; j < ny; j++)
            for (n64 k = 0; k < nz; k++) {
                double change = along_x[i + 1][j][k] - along_x[i][j][k] + along_y[i][j + 1][k] - along_y[i][j][k];
                out[i][j][k] = field[i + 2][j + 2][k] - strength[i][j][k] * change;
            }
    free(curvature_);
    free(along_x_);
    free(along_y_);
}

void seidel_2d(n64 steps, double *a_, n64 n, n64 m)
{
    GRID(a, m);
    for (n64 t = 0; t < steps; t++)
        for (n64 i = 1; i < n - 1; i++)
            for (n64 j = 1; j < m - 1; j++)
                a[i][j] = (a[i - 1][j - 1] + a[i - 1][j] + a[i - 1][j + 1] + a[i][j - 1] + a[i][j]
                           + a[i][j + 1] + a[i + 1][j - 1] + a[i + 1][j] + a[i + 1][j + 1]) / 9.0;
}

void thomas(double *lower_, double *diagonal_, double *upper_, double *right_, double *x_, n64 levels, n64 n)
{
    GRID(lower, n);
    GRID(diagonal, n);
    GRID(upper, n);
    GRID(right, n);
    GRID(x, n);
    double *c_ = malloc(sizeof(double) * levels * n), *d_ = malloc(sizeof(double) * levels * n);
    GRID(c, n);
    GRID(d, n);
    for (n64 i = 0; i < n; i++) {
        c[0][i] = upper[0][i] / diagonal[0][i];
        d[0][i] = right[0][i] / diagonal[0][i];
        for (n64 k = 1; k < levels; k++) {
            double pivot = diagonal[k][i] - lower[k][i] * c[k - 1][i];
            c[k][i] = upper[k][i] / pivot;
            d[k][i] = (right[k][i] - lower[k][i] * d[k - 1][i]) / pivot;
        }
        x[levels - 1][i] = d[levels - 1][i];
        for (n64 k = levels - 2; k >= 0; k--)
            x[k][i] = d[k][i] - c[k][i] * x[k + 1][i];
    }
    free(c_);
    free(d_);
}

void conv2d(double *images_, double *weights_, double *bias, double *out_,
            n64 count, n64 rows, n64 columns, n64 channels, n64 height, n64 width, n64 features)
{
    double (*images)[rows][columns][channels] = (void *)images_;
    double (*weights)[width][channels][features] = (void *)weights_;
    double (*out)[rows - height + 1][columns - width + 1][features] = (void *)out_;
    for (n64 n = 0; n < count; n++)
        for (n64 y = 0; y < rows - height + 1; y++)
            for (n64 x = 0; x < columns - width + 1; x++)
                for (n64 f = 0; f < features; f++) {
                    double total = 0.0;
                    for (n64 dy = 0; dy < height; dy++)
                        for (n64 dx = 0; dx < width; dx++)
                            for (n64 c = 0; c < channels; c++)
                                total += images[n][y + dy][x + dx][c] * weights[dy][dx][c][f];
                    total += bias[f];
                    out[n][y][x][f] = total < 0.0 ? 0.0 : total;
                }
}

void mm2(double alpha, double beta, double *a_, double *b_, double *c_, double *d_, n64 rows, n64 inner, n64 middle, n64 columns)
{
    GRID(a, inner);
    GRID(b, middle);
    GRID(c, columns);
    GRID(d, columns);
    double *product_ = malloc(sizeof(double) * rows * middle);
    GRID(product, middle);
    for (n64 i = 0; i < rows; i++)
        for (n64 j = 0; j < middle; j++) {
            double total = 0.0;
            for (n64 k = 0; k < inner; k++)
                total += alpha * a[i][k] * b[k][j];
            product[i][j] = total;
        }
    for (n64 i = 0; i < rows; i++)
        for (n64 j = 0; j < columns; j++) {
            double total = d[i][j] * beta;
            for (n64 k = 0; k < middle; k++)
                total += product[i][k] * c[k][j];
            d[i][j] = total;
        }
    free(product_);
}

void softmax(double *x_, double *out_, n64 n, n64 m)
{
    GRID(x, m);
    GRID(out, m);
    for (n64 i = 0; i < n; i++) {
        double largest = x[i][0], total = 0.0;
        for (n64 j = 1; j < m; j++)
            if (x[i][j] > largest)
                largest = x[i][j];
        for (n64 j = 0; j < m; j++) {
            double e = exp(x[i][j] - largest);
            out[i][j] = e;
            total += e;
        }
        for (n64 j = 0; j < m; j++)
            out[i][j] = out[i][j] / total;
    }
}

void spmv(n64 *start, n64 *column, double *value, double *x, double *y, n64 n)
{
    for (n64 i = 0; i < n; i++) {
        double total = 0.0;
        for (n64 p = start[i]; p < start[i + 1]; p++)
            total += value[p] * x[column[p]];
        y[i] = total;
    }
}

void floyd_warshall(double *distance_, n64 n)
{
    GRID(distance, n);
    for (n64 k = 0; k < n; k++)
        for (n64 i = 0; i < n; i++)
            for (n64 j = 0; j < n; j++) {
                double through = distance[i][k] + distance[k][j];
                if (through < distance[i][j])
                    distance[i][j] = through;
            }
}

void azimuthal(double *data, double *px, double *py, double cx, double cy, double scale, n64 bins, double *mean, n64 n)
{
    double *total = calloc(bins, sizeof(double));
    n64 *count = calloc(bins, sizeof(n64));
    for (n64 i = 0; i < n; i++) {
        double dx = px[i] - cx, dy = py[i] - cy;
        n64 ring = (n64)(sqrt(dx * dx + dy * dy) * scale);
        if (ring < bins) {
            total[ring] += data[i];
            count[ring] += 1;
        }
    }
    for (n64 ring = 0; ring < bins; ring++)
        mean[ring] = count[ring] > 0 ? total[ring] / count[ring] : 0.0;
    free(total);
    free(count);
}

void prefix(double *rows_, double limit, double *sums_, n64 *stop, n64 n, n64 m)
{
    GRID(rows, m);
    GRID(sums, m);
    for (n64 i = 0; i < n; i++) {
        double s = 0.0;
        stop[i] = m;
        for (n64 j = 0; j < m; j++) {
            s += rows[i][j];
            sums[i][j] = s;
            if (s > limit) {
                stop[i] = j;
                break;
            }
        }
    }
}

void go_fast(double *a_, n64 width, double *out_, n64 n)
{
    GRID(a, n);
    GRID(out, n);
    double trace = 0.0;
    for (n64 d = 0; d < width; d++)
        for (n64 i = 0; i < n - d; i++)
            trace += tanh(a[i][i + d]);
    for (n64 i = 0; i < n; i++)
        for (n64 j = 0; j < n; j++)
            out[i][j] = a[i][j] + trace;
}

void mandelbrot(double left, double right, double bottom, double top, n64 limit, n64 *count, n64 rows, n64 columns)
{
    for (n64 i = 0; i < rows; i++) {
        double cy = bottom + (top - bottom) * i / rows;
        for (n64 j = 0; j < columns; j++) {
            double cx = left + (right - left) * j / columns, x = 0.0, y = 0.0;
            n64 n = 0;
            while (n < limit && x * x + y * y <= 4.0) {
                double t = x * x - y * y + cx;
                y = 2.0 * x * y + cy;
                x = t;
                n++;
            }
            count[i * columns + j] = n;
        }
    }
}

void lcs(int8_t *a, int8_t *b, int32_t *last, n64 n, n64 m)
{
    int32_t (*table)[m + 1] = calloc((n + 1) * (m + 1), sizeof(int32_t));
    for (n64 i = 1; i <= n; i++)
        for (n64 j = 1; j <= m; j++) {
            if (a[i - 1] == b[j - 1])
                table[i][j] = table[i - 1][j - 1] + 1;
            else if (table[i - 1][j] >= table[i][j - 1])
                table[i][j] = table[i - 1][j];
            else
                table[i][j] = table[i][j - 1];
        }
    for (n64 i = 0; i <= n; i++)
        last[i] = table[i][m];
    free(table);
}

void crc16(uint8_t *data, n64 *out, n64 n)
{
    n64 crc = 0xFFFF;
    for (n64 i = 0; i < n; i++) {
        crc ^= data[i];
        for (n64 bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0xA001 : crc >> 1;
    }
    out[0] = crc;
}
