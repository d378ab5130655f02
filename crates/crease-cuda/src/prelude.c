/* What the operations of crease do to numbers, in the words of C and of CUDA alike. REAL is float or double, and F names the
   functions of that precision. Each says what crease_core::run says, at kinks, zeros of both signs and NaN, too. */
#ifdef __CUDACC_RTC__
#define DEVICE static __device__ __forceinline__
/* functions of a library are long: where there are many calls, each stays a call, or compiling would take longer than running */
#ifdef MANY_CALLS
#define LIBRARY static __device__ __noinline__
#else
#define LIBRARY static __device__ __forceinline__
#endif
#define TABLE static __device__ const __align__(16)
#define KERNEL extern "C" __global__ void
#define BOUNDED __launch_bounds__(WARPS * 32)
#define REPORT(at, point) atomicMin((at), (point))
#define THREAD ((long long)blockIdx.x * blockDim.x + threadIdx.x)
/* a block is 32 points, each with as many threads as there are warps */
#define LANE ((int)threadIdx.x & 31)
/* the same in a whole warp, and the compiler is told so: tables are then read once for all of it */
#define SLICE __shfl_sync(0xffffffffu, (int)threadIdx.x >> 5, 0)
#define SLICES WARPS
#define WIDTH 32
#define POINT ((long long)blockIdx.x * 32 + LANE)
#define SYNC() __syncthreads()
#define UNROLL _Pragma("unroll 4")
#define THREADS ((long long)gridDim.x * blockDim.x)
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define LOCAL threadIdx.x
#define LOCALS blockDim.x
#define ADD_TO(to, x) (to) = (x)
/* the sum over the threads of a block, in one order; its first thread goes on with it */
#define BLOCK_SUM(sum, then) do { \
    __shared__ double parts_[32]; \
    for (int o_ = 16; o_ > 0; o_ >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, o_); \
    if ((threadIdx.x & 31) == 0) parts_[threadIdx.x >> 5] = sum; \
    __syncthreads(); \
    if (threadIdx.x == 0) { sum = 0; for (int w_ = 0; w_ < (int)blockDim.x >> 5; w_++) sum += parts_[w_]; then; } \
    __syncthreads(); \
  } while (0)
extern __shared__ double shared_memory[];
#else
#include <math.h>
#define KERNEL static void
#define BOUNDED
#define DEVICE static inline
#define LIBRARY static inline
#define TABLE static const
#define REPORT(at, point) (*(at) = *(at) < (point) ? *(at) : (point))
#define THREAD one_thread
#define LANE 0
#define SLICE 0
#define SLICES 1
#define WIDTH 1
#define POINT one_thread
#define SYNC()
#define UNROLL
#define __restrict__
/* one thread, called for each point in turn */
#define THREADS points
#define BLOCK 0
#define BLOCKS 1
#define LOCAL 0
#define LOCALS 1
#define ADD_TO(to, x) (to) += (x)
#define BLOCK_SUM(sum, then) then
static long long one_thread;
static double shared_memory[1 << 16];
#endif

/* where the numbers of an input lie among those that a block holds, in bytes, and back */
#define PLACE(input) ((unsigned)((input) * WIDTH * sizeof(REAL)))
#define INPUT(place) ((place) / (unsigned)(WIDTH * sizeof(REAL)))
#define AT(held, place) (*(const REAL *)((const char *)(held) + (place)))

#define INFINITE ((REAL)(1e308 * 1e10))
#define LN_2 0x1.62e42fefa39efp-1

DEVICE int is_finite(REAL x) { return x - x == 0; }
DEVICE int is_bad_truth(REAL x) { return x == x && x != 0 && x != 1; }

DEVICE REAL added(REAL a, REAL b) { return a + b; }
DEVICE REAL relu(REAL x) { return x <= 0 ? (REAL)0 : x; }
DEVICE REAL slope(REAL x, REAL left, REAL at, REAL right) { return x > 0 ? right : x < 0 ? left : x == 0 ? at : x; }

#if defined(__CUDACC_RTC__) && defined(SINGLE)
/* with NaN passed on, and 0 above -0 */
DEVICE REAL larger(REAL a, REAL b) { REAL r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
DEVICE REAL smaller(REAL a, REAL b) { REAL r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
#else
DEVICE REAL larger(REAL a, REAL b) { return a < b ? b : a > b ? a : a == b && a != 0 ? a : a + b; }
DEVICE REAL smaller(REAL a, REAL b) { return -larger(-a, -b); }
#endif

#define CALLED(name) LIBRARY REAL call_##name(REAL x) { return F(name)(x); }
CALLED(exp) CALLED(log) CALLED(sin) CALLED(cos) CALLED(tanh) CALLED(tan) CALLED(asin) CALLED(acos) CALLED(atan)
CALLED(sinh) CALLED(cosh) CALLED(log1p) CALLED(expm1)
LIBRARY REAL call_erf(REAL x) { return (REAL)erf((double)x); }
LIBRARY REAL call_erfc(REAL x) { return (REAL)erfc((double)x); }

LIBRARY REAL sigmoid(REAL x) {
  if (x >= 0) return 1 / (1 + F(exp)(-x));
  REAL e = F(exp)(x);
  return e / (1 + e);
}
LIBRARY REAL softplus(REAL x) { return (x <= 0 ? (REAL)0 : x) + F(log1p)(F(exp)(-F(fabs)(x))); }
LIBRARY REAL elu(REAL x, REAL scale) { return x < 0 ? scale * F(exp)(x) - scale : x; }
LIBRARY REAL elu_slope(REAL x, REAL scale, REAL at) { return x > 0 ? (REAL)1 : x < 0 ? scale * F(exp)(x) : x == 0 ? at : x; }

DEVICE double upper_half(double x) {
#ifdef __CUDACC_RTC__
  return __hiloint2double(__double2hiint(x), 0);
#else
  union { double d; unsigned long long u; } bits;
  bits.d = x;
  bits.u &= 0xffffffff00000000ull;
  return bits.d;
#endif
}
LIBRARY REAL erf_slope(REAL given) {
  double x = given;
  if (x == x && x - x != 0) return 0;
  double upper = upper_half(x), rest = (x - upper) * (x + upper);
  return (REAL)(0x1.20dd750429b6dp+0 * exp(-upper * upper) * exp(-rest));
}
LIBRARY REAL inverse_sinh(REAL given) {
  double x = given, size = fabs(x);
  double value = size >= 268435456.0 ? log(size) + LN_2 : log1p(size + size * size / (1.0 + sqrt(size * size + 1.0)));
  return (REAL)copysign(value, x);
}
LIBRARY REAL inverse_cosh(REAL given) {
  double x = given;
  if (x < 1.0) return INFINITE - INFINITE;
  if (x >= 268435456.0) return (REAL)(log(x) + LN_2);
  double above = x - 1.0;
  return (REAL)log1p(above + sqrt(above * (x + 1.0)));
}
LIBRARY REAL inverse_tanh(REAL given) {
  double x = given, size = fabs(x);
  return (REAL)copysign(0.5 * log1p(2.0 * size / (1.0 - size)), x);
}
LIBRARY REAL root(REAL given, double p, double q) {
  double x = given;
  if (x < 0) return INFINITE - INFINITE;
  double exponent = p / q, power = pow(x, exponent), lacks = fma(-exponent, q, p) / q;
  return (REAL)(lacks == 0 || power == 0 || power - power != 0 ? power : power + power * (lacks * log(x)));
}

/* a power with an integer exponent, in the order of the library that the interpreter uses */
DEVICE REAL powers(REAL a, int k) {
  REAL r = 1;
  int turn = k < 0;
  for (;;) {
    if (k & 1) r *= a;
    k /= 2;
    if (k == 0) break;
    a *= a;
  }
  return turn ? 1 / r : r;
}

/* the Euclidean norm of members whose plain sum of squares is known; a power of two changes no digit */
DEVICE REAL norm(const REAL *x, int n, REAL sum) {
  REAL scale = 1, total = 0;
  int i, finite = 1;
  for (i = 0; i < n; i++) finite &= is_finite(x[i]);
  if (sum == INFINITE && finite) scale = SHRINK;
  else if (sum < LEAST_SQUARE) scale = GROW;
  else return F(sqrt)(sum);
  for (i = 0; i < n; i++) total = total + x[i] * scale * (x[i] * scale);
  return F(sqrt)(total) / scale;
}

/* ascending, equal members in their order or (last) in the opposite one; a NaN makes everything one and leaves the order alone */
DEVICE void sorted(REAL *x, int *from, int n, int last) {
  int i, j, nan = 0;
  for (i = 0; i < n; i++) { from[i] = i; nan |= x[i] != x[i]; }
  if (nan) {
    for (i = 0; i < n; i++) x[i] = INFINITE - INFINITE;
    return;
  }
  for (i = 1; i < n; i++) {
    REAL key = x[i];
    for (j = i; j > 0 && (last ? x[j - 1] >= key : x[j - 1] > key); j--) { x[j] = x[j - 1]; from[j] = from[j - 1]; }
    x[j] = key;
    from[j] = i;
  }
}

/* out[k] = x[at[k]], or the other way round; NaN everywhere where the positions are not a permutation */
DEVICE void permuted(const REAL *x, const REAL *at, REAL *out, int n, int inverse) {
  int k, fine = 1;
  for (k = 0; k < n; k++) out[k] = 0;
  for (k = 0; k < n; k++) {
    REAL a = at[k];
    if (!(a >= 0 && a < n && a == F(floor)(a)) || out[(int)a] != 0) { fine = 0; break; }
    out[(int)a] = 1;
  }
  for (k = 0; k < n; k++) {
    if (!fine) out[k] = F(sqrt)((REAL)-1);
    else if (inverse) out[(int)at[k]] = x[k];
    else out[k] = x[(int)at[k]];
  }
}
