/* The kernels in the language of ISPC, as they are written there: branches, early returns and breaks of the program
 * instances, uniform counters, `foreach` over the lanes. The same algorithms as in kernels.c.
 *
 * REAL is double or float, INTEGER int64 or int32, KERNEL the one that is exported: `run`, with ARITY arrays of IN and
 * one of OUT.
 */
#define F(x) ((uniform REAL)(x##d))

/* --- prices */

#define RATE F(0.02)

static inline REAL normal_cdf(REAL x) {
    REAL size = abs(x);
    REAL k = F(1.0) / (F(1.0) + F(0.2316419) * size);
    REAL series = k * (F(0.319381530) + k * (F(-0.356563782) + k * (F(1.781477937)
        + k * (F(-1.821255978) + k * F(1.330274429)))));
    REAL tail = F(0.3989422804014327) * exp(F(-0.5) * size * size) * series;
    if (x > F(0.0)) return F(1.0) - tail;
    return tail;
}

static inline REAL bs(REAL side, REAL spot, REAL strike, REAL years, REAL volatility) {
    if (years <= F(0.0)) {
        if (side > F(0.0)) return max(spot - strike, F(0.0));
        return max(strike - spot, F(0.0));
    }
    REAL spread = volatility * sqrt(years);
    REAL d1 = (log(spot / strike) + (RATE + F(0.5) * volatility * volatility) * years) / spread;
    REAL d2 = d1 - spread;
    REAL discounted = strike * exp(-RATE * years);
    if (side > F(0.0)) return spot * normal_cdf(d1) - discounted * normal_cdf(d2);
    return discounted * normal_cdf(-d2) - spot * normal_cdf(-d1);
}

static inline REAL implied(REAL price, REAL spot, REAL strike, REAL years) {
    REAL discounted = strike * exp(-RATE * years);
    if (price <= max(spot - discounted, F(0.0)) || price >= spot) return F(-1.0);
    REAL low = F(1e-4), high = F(5.0), guess = F(0.3), root = sqrt(years);
    for (uniform int i = 0; i < 40; i++) {
        REAL spread = guess * root;
        REAL d1 = (log(spot / strike) + (RATE + F(0.5) * guess * guess) * years) / spread;
        REAL error = spot * normal_cdf(d1) - discounted * normal_cdf(d1 - spread) - price;
        if (abs(error) < F(1e-7)) break;
        if (error > F(0.0)) high = guess;
        else low = guess;
        REAL vega = spot * root * F(0.3989422804014327) * exp(F(-0.5) * d1 * d1);
        if (vega > F(1e-8)) guess = guess - error / vega;
        if (vega <= F(1e-8) || guess <= low || guess >= high) guess = F(0.5) * (low + high);
    }
    return guess;
}

static const uniform REAL STARTS[7] = {F(0.0), F(11000.0), F(44725.0), F(95375.0), F(182100.0), F(231250.0),
                                       F(578125.0)};
static const uniform REAL SHARES[7] = {F(0.10), F(0.12), F(0.22), F(0.24), F(0.32), F(0.35), F(0.37)};

static inline REAL tax(REAL income, REAL spouse_income, REAL married, REAL children) {
    bool both = married > F(0.5);
    REAL total = both ? income + spouse_income : income;
    REAL taxable = total - (both ? F(27700.0) : F(13850.0));
    if (taxable <= F(0.0)) return F(0.0);
    if (both) taxable = taxable / F(2.0);
    REAL due = F(0.0);
    for (uniform int i = 0; i < 7; i++) {
        if (taxable <= STARTS[i]) break;
        REAL end = taxable;
        if (i < 6) end = STARTS[i + 1];
        due += (min(taxable, end) - STARTS[i]) * SHARES[i];
    }
    if (both) due = due * F(2.0);
    REAL limit = both ? F(400000.0) : F(200000.0);
    REAL credit = F(2000.0) * children;
    if (total > limit) credit = max(credit - F(50.0) * ceil((total - limit) / F(1000.0)), F(0.0));
    return max(due - credit, F(0.0));
}

/* --- images */

static inline REAL srgb(REAL c) {
    if (c <= F(0.0)) return F(0.0);
    if (c >= F(1.0)) return F(1.0);
    if (c <= F(0.04045)) return c / F(12.92);
    return pow((c + F(0.055)) / F(1.055), F(2.4));
}

static inline REAL hsv(REAL r, REAL g, REAL b) {
    REAL largest = max(max(r, g), b), smallest = min(min(r, g), b);
    if (smallest == largest) return largest;
    REAL spread = largest - smallest;
    REAL saturation = spread / largest;
    REAL red = (largest - r) / spread, green = (largest - g) / spread, blue = (largest - b) / spread, hue;
    if (r == largest) hue = blue - green;
    else if (g == largest) hue = F(2.0) + red - blue;
    else hue = F(4.0) + green - red;
    hue = hue / F(6.0);
    if (hue < F(0.0)) hue = hue + F(1.0);
    return hue + saturation + largest;
}

static inline REAL gradient(unsigned int h, REAL x, REAL y) {
    REAL u, v;
    if ((h & 7) < 4) { u = x; v = F(2.0) * y; }
    else { u = y; v = F(2.0) * x; }
    if (h & 1) u = -u;
    if (h & 2) v = -v;
    return u + v;
}

static inline unsigned int hash_corner(unsigned int i, unsigned int j) {
    unsigned int h = i * 374761393u + j * 668265263u;
    h = (h ^ (h >> 13)) * 1274126177u;
    return (h ^ (h >> 16)) >> 3;
}

static inline REAL fade(REAL t) { return t * t * t * (t * (t * F(6.0) - F(15.0)) + F(10.0)); }

static inline REAL noise(REAL x, REAL y) {
    REAL left = floor(x), below = floor(y);
    unsigned int i = (unsigned int)(int)left, j = (unsigned int)(int)below;
    REAL fx = x - left, fy = y - below;
    REAL u = fade(fx), v = fade(fy);
    REAL n00 = gradient(hash_corner(i, j), fx, fy);
    REAL n10 = gradient(hash_corner(i + 1, j), fx - F(1.0), fy);
    REAL n01 = gradient(hash_corner(i, j + 1), fx, fy - F(1.0));
    REAL n11 = gradient(hash_corner(i + 1, j + 1), fx - F(1.0), fy - F(1.0));
    REAL a = n00 + u * (n10 - n00), b = n01 + u * (n11 - n01);
    return a + v * (b - a);
}

static inline INTEGER mandelbrot(REAL cr, REAL ci, uniform int limit) {
    REAL zr = F(0.0), zi = F(0.0);
    for (uniform int i = 0; i < limit; i++) {
        REAL zr2 = zr * zr, zi2 = zi * zi;
        if (zr2 + zi2 > F(4.0)) return i;
        zi = F(2.0) * zr * zi + ci;
        zr = zr2 - zi2 + cr;
    }
    return limit;
}

static inline INTEGER mand32(REAL cr, REAL ci) { return mandelbrot(cr, ci, 32); }
static inline INTEGER mand256(REAL cr, REAL ci) { return mandelbrot(cr, ci, 256); }

static inline REAL to_surface(REAL x, REAL y, REAL z) {
    REAL ball = sqrt(x * x + y * y + z * z) - F(1.0), ground = y + F(1.0);
    REAL h = F(0.5) + F(2.0) * (ground - ball);
    if (h < F(0.0)) return ground;
    if (h > F(1.0)) return ball;
    return ground + (ball - ground) * h - F(0.25) * h * (F(1.0) - h);
}

static inline REAL raymarch(REAL u, REAL v) {
    REAL scale = F(1.0) / sqrt(u * u + v * v + F(2.25));
    REAL dx = u * scale, dy = v * scale, dz = F(1.5) * scale, t = F(0.0);
    for (uniform int i = 0; i < 64; i++) {
        REAL d = to_surface(t * dx, t * dy, t * dz - F(4.0));
        if (d < F(0.001)) break;
        t = t + d;
        if (t > F(20.0)) return F(-1.0);
    }
    return t;
}

static inline REAL slope(int h, REAL x, REAL y, REAL z) {
    h = h & 15;
    REAL u = h < 8 ? x : y;
    REAL v = h < 4 ? y : (h == 12 || h == 14 ? x : z);
    if (h & 1) u = -u;
    if (h & 2) v = -v;
    return u + v;
}

static inline REAL mix(REAL t, REAL a, REAL b) { return a + t * (b - a); }

static inline REAL perlin(REAL x, REAL y, REAL z, const uniform int permutation[]) {
    REAL left = floor(x), below = floor(y), near = floor(z);
    int i = (int)left & 255, j = (int)below & 255, k = (int)near & 255;
    x -= left;
    y -= below;
    z -= near;
    REAL u = fade(x), v = fade(y), w = fade(z);
    int a = permutation[i] + j, b = permutation[i + 1] + j;
    int aa = permutation[a] + k, ab = permutation[a + 1] + k;
    int ba = permutation[b] + k, bb = permutation[b + 1] + k;
    REAL one = F(1.0);
    REAL low = mix(v, mix(u, slope(permutation[aa], x, y, z), slope(permutation[ba], x - one, y, z)),
                   mix(u, slope(permutation[ab], x, y - one, z), slope(permutation[bb], x - one, y - one, z)));
    REAL high = mix(v, mix(u, slope(permutation[aa + 1], x, y, z - one),
                           slope(permutation[ba + 1], x - one, y, z - one)),
                    mix(u, slope(permutation[ab + 1], x, y - one, z - one),
                        slope(permutation[bb + 1], x - one, y - one, z - one)));
    return mix(w, low, high);
}

/* --- sciences */

static inline REAL haversine(REAL la1, REAL lo1, REAL la2, REAL lo2) {
    if (la1 > F(90.0) || la1 < F(-90.0) || la2 > F(90.0) || la2 < F(-90.0)) return F(-1.0);
    if (la1 == la2 && lo1 == lo2) return F(0.0);
    REAL p1 = la1 * F(0.017453292519943295), p2 = la2 * F(0.017453292519943295);
    REAL sdp = sin((p2 - p1) * F(0.5)), sdl = sin((lo2 - lo1) * F(0.008726646259971648));
    REAL a = sdp * sdp + cos(p1) * cos(p2) * sdl * sdl;
    if (a >= F(1.0)) return F(20015.086796020572);
    return F(12742.0) * asin(sqrt(a));
}

static inline REAL kepler(REAL m, REAL e) {
    REAL x = m + e * sin(m);
    for (uniform int i = 0; i < 20; i++) {
        REAL d = (x - e * sin(x) - m) / (F(1.0) - e * cos(x));
        x = x - d;
        if (abs(d) < F(1e-6)) break;
    }
    return x;
}

static inline REAL orbit(REAL x, REAL y, REAL vx, REAL vy) {
    uniform REAL step = F(20.0);
    for (uniform int i = 0; i < 12; i++) {
        REAL r2 = x * x + y * y;
        REAL r = sqrt(r2);
        if (r < F(6371.0)) return F(-1.0);
        REAL pull = F(-398600.4418) / (r2 * r);
        REAL ax = pull * x, ay = pull * y;
        if (r < F(6571.0)) {
            REAL speed = sqrt(vx * vx + vy * vy), depth = (F(6571.0) - r) / F(200.0);
            REAL density = F(1e-4) * (depth * depth);
            ax = ax - density * speed * vx;
            ay = ay - density * speed * vy;
        }
        vx = vx + ax * step;
        vy = vy + ay * step;
        x = x + vx * step;
        y = y + vy * step;
    }
    return sqrt(x * x + y * y) - F(6371.0);
}

static inline REAL saturation_pressure(REAL t) {
    REAL theta = t + F(-0.23855557567849) / (t - F(650.17534844798));
    REAL a = theta * theta + F(1167.0521452767) * theta + F(-724213.16703206);
    REAL b = F(-17.073846940092) * theta * theta + F(12020.82470247) * theta + F(-3232555.0322333);
    REAL c = F(14.91510861353) * theta * theta + F(-4823.2657361591) * theta + F(405113.40542057);
    REAL q = F(2.0) * c / (-b + sqrt(b * b - F(4.0) * a * c));
    return (q * q) * (q * q);
}

static inline INTEGER steam(REAL p, REAL t) {
    if (t < F(273.15) || t > F(2273.15) || p <= F(0.0) || p > F(100.0)) return 0;
    if (t <= F(623.15)) {
        if (p >= saturation_pressure(t)) return 1;
        return 2;
    }
    if (t <= F(863.15)) {
        REAL boundary = F(348.05185628969) + F(-1.1671859879975) * t + F(0.0010192970039326) * t * t;
        if (p > boundary) return 3;
        return 2;
    }
    if (t <= F(1073.15)) return 2;
    if (p <= F(50.0)) return 5;
    return 0;
}

static inline REAL comfort(REAL t, REAL r) {
    REAL simple = F(0.5) * (t + F(61.0) + (t - F(68.0)) * F(1.2) + r * F(0.094));
    if ((simple + t) / F(2.0) < F(80.0)) return simple;
    REAL index = F(-42.379) + F(2.04901523) * t + F(10.14333127) * r - F(0.22475541) * t * r
        - F(0.00683783) * t * t - F(0.05481717) * r * r + F(0.00122874) * t * t * r + F(0.00085282) * t * r * r
        - F(0.00000199) * t * t * r * r;
    if (r < F(13.0) && F(80.0) <= t && t <= F(112.0))
        index -= (F(13.0) - r) / F(4.0) * sqrt((F(17.0) - abs(t - F(95.0))) / F(17.0));
    else if (r > F(85.0) && F(80.0) <= t && t <= F(87.0))
        index += (r - F(85.0)) / F(10.0) * ((F(87.0) - t) / F(5.0));
    return index;
}

static inline REAL piecewise(REAL x) {
    if (x < F(-2.0)) return F(0.25) * x - F(1.0);
    if (x < F(-1.0)) return x * x + F(2.0) * x;
    if (x < F(0.0)) return ((x + F(0.5)) * x - F(0.25)) * x;
    if (x < F(1.0)) return (F(0.3) * x * x + F(0.1)) * x;
    if (x < F(2.0)) return F(1.0) - (x - F(1.5)) * (x - F(0.5));
    return F(0.125) * x + F(0.75);
}

static inline INTEGER collatz(INTEGER n) {
    INTEGER steps = 0;
    while (n != 1 && steps < 256) {
        if ((n & 1) == 0) n = n >> 1;
        else n = 3 * n + 1;
        steps++;
    }
    return steps;
}

/* --- over arrays */

#if ARITY == 1
export void run(const uniform IN a[], uniform OUT out[], uniform int n) {
    foreach (i = 0 ... n) out[i] = KERNEL(a[i]);
}
#elif ARITY == 2
export void run(const uniform IN a[], const uniform IN b[], uniform OUT out[], uniform int n) {
    foreach (i = 0 ... n) out[i] = KERNEL(a[i], b[i]);
}
#elif ARITY == 3 && defined(TABLE)
export void run(const uniform IN a[], const uniform IN b[], const uniform IN c[], const uniform int table[],
                uniform OUT out[], uniform int n) {
    foreach (i = 0 ... n) out[i] = KERNEL(a[i], b[i], c[i], table);
}
#elif ARITY == 3
export void run(const uniform IN a[], const uniform IN b[], const uniform IN c[], uniform OUT out[], uniform int n) {
    foreach (i = 0 ... n) out[i] = KERNEL(a[i], b[i], c[i]);
}
#elif ARITY == 4
export void run(const uniform IN a[], const uniform IN b[], const uniform IN c[], const uniform IN d[],
                uniform OUT out[], uniform int n) {
    foreach (i = 0 ... n) out[i] = KERNEL(a[i], b[i], c[i], d[i]);
}
#elif ARITY == 5
export void run(const uniform IN a[], const uniform IN b[], const uniform IN c[], const uniform IN d[],
                const uniform IN e[], uniform OUT out[], uniform int n) {
    foreach (i = 0 ... n) out[i] = KERNEL(a[i], b[i], c[i], d[i], e[i]);
}
#endif
