/* The functions of benchmarks/strides.py over operands that are so many elements, or bytes, apart. STRIDE is a constant,
 * so that the compiler writes what it can for that distance. */
#include <stdint.h>

void fee(const double *restrict x, const double *restrict y, double *restrict out, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        double a = x[k * STRIDE], b = y[k * STRIDE];
        out[k] = a > b ? a * 0.5 + b : b - a * a;
    }
}

#pragma pack(push, 1)
struct row { int64_t id; int32_t quantity; float price; uint8_t paid, shop; };
#pragma pack(pop)

void total_of_rows(const struct row *restrict rows, double *restrict out, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        double full = (double)rows[k].quantity * (double)rows[k].price * (rows[k].quantity >= 50 ? 0.9 : 1.0);
        out[k] = rows[k].paid ? 0.0 : full;
    }
}

void total(const int64_t *restrict quantity, const double *restrict price, const uint8_t *restrict paid,
           double *restrict out, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        double full = (double)quantity[k] * price[k] * (quantity[k] >= 50 ? 0.9 : 1.0);
        out[k] = paid[k] ? 0.0 : full;
    }
}
