#pragma once
// The CUDA kernels of the RBF SVM. All pointers are to device memory; all launches go into the given stream.

#include <cstdint>

#include "gpu/classifiers/rbf_svm/smo_step.h"
#include "gpu/core/device.h"

namespace warpscope::classifiers::rbf {

// ---- features ----

/// Rows of features are looked at in chunks of so many.
inline constexpr std::int64_t kChunkRows = 256;

inline std::int64_t chunks_of(std::int64_t rows) {
  return (rows + kChunkRows - 1) / kChunkRows;
}

/// What is known of the columns of `values`, (rows, columns).
struct ColumnCall {
  const float* values = nullptr;
  std::int64_t rows = 0;
  int columns = 0;
  double* partial = nullptr;                ///< (chunks, columns): scratch
  double* means = nullptr;                  ///< (columns)
  unsigned long long* first_bad = nullptr;  ///< row * columns + column of the first number that is not finite
};

/// Fills `means` and `first_bad` (~0 if all numbers are finite).
void find_means(core::Stream& stream, const ColumnCall& call);

/// Squares and the largest magnitude of value - mean, of a chunk and 256 columns.
struct Spread {
  double squares = 0;
  double largest = 0;
};

/// One Spread for each chunk and each 256 columns, (chunks, ceil(columns / 256)).
void find_spreads(core::Stream& stream, const ColumnCall& call, Spread* spreads);

/// Splits rows (split_rows.h): place p of `places` gets row sources[p], or zeros if that is -1; sources may be
/// nullptr: row p.
struct SplitCall {
  const float* values = nullptr;
  int columns = 0;
  const int* sources = nullptr;
  std::int64_t places = 0;
  const double* means = nullptr;
  int exponent = 0;
  std::uint16_t* rows = nullptr;  ///< (places, slabs, 64)
};
void split_rows(core::Stream& stream, const SplitCall& call);

// ---- squared distances ----

/// Rows of one side of the distances. Row r is place rows[r], or place first + r if `rows` is nullptr.
struct Side {
  const std::uint16_t* split = nullptr;
  const float* norms = nullptr;
  const int* rows = nullptr;
  std::int64_t first = 0;
  int count = 0;
};

/// result[r][c] = max(0, |a_r|^2 + |b_c|^2 - dot_factor a_r b_c). Where `symmetric`, both sides are the same rows,
/// the diagonal is 0, and each pair is computed once, so that the matrix is symmetric bit for bit.
struct DistanceCall {
  Side a;
  Side b;
  int slabs = 0;
  float dot_factor = 2.0f;
  bool symmetric = false;
  float* result = nullptr;
  std::int64_t pitch = 0;  ///< of `result`, in numbers; even
};

/// The squares of rows, (places): row times itself by the very products and sums of find_distances(), so that what
/// these lose cancels and rows that are the same have the distance 0; times 2^exponent.
struct NormCall {
  const std::uint16_t* split = nullptr;
  std::int64_t places = 0;
  int slabs = 0;
  int exponent = 0;
  float* norms = nullptr;
};
void find_norms(core::Stream& stream, const NormCall& call);

/// Blocks of the whole call. They may be launched in parts.
std::int64_t distance_blocks(const DistanceCall& call);
void find_distances(core::Stream& stream, const DistanceCall& call, std::int64_t first_block,
                    std::int64_t blocks);

// ---- solving ----

/// One problem of two classes: its rows are two stretches of places of a square matrix of distances. Its own places
/// t count through both: [0, padded[0]) and [padded[0], padded[0] + padded[1]); padded counts are multiples of 4.
struct PairProblem {
  const float* distances = nullptr;  ///< where the matrix begins
  std::int64_t pitch = 0;
  int first[2] = {};  ///< where in the matrix the stretches begin; multiples of 4
  int padded[2] = {};
  double bounds[2] = {};  ///< upper bounds of alpha of both classes
  // One a place:
  const std::uint8_t* member = nullptr;  ///< 0: not part of the problem, its alpha is 0
  double* alpha = nullptr;
  float* gradient = nullptr;  ///< v of smo_step.h
  double* exact = nullptr;    ///< v summed anew in double
  float* row = nullptr;       ///< scratch of large problems; nullptr where find_room() says none is needed
};

enum class PairPhase : int {
  running = 0,    ///< iterations go on
  settled = 1,    ///< the gap of the kept gradient is below the tolerance; the exact one is to be found
  done = 2,       ///< that is below its tolerance too
  exhausted = 3,  ///< the bound of iterations was reached; the exact gap is to be found
  stopped = 4     ///< it has been found, and it is too large
};

struct PairState {
  int phase = 0;  ///< PairPhase
  int support_vectors = 0;
  int bounded = 0;
  int free_vectors = 0;
  std::int64_t iterations = 0;
  std::int64_t sent_back_at = -1;  ///< iterations when it last was settled and then running again
  double gap = 0;
  double exact_gap = 0;
  double objective = 0;
  double rho = 0;
};

struct SolveCall {
  const PairProblem* problems = nullptr;
  PairState* states = nullptr;
  int count = 0;
  int largest = 0;  ///< places of the largest problem
  KernelFactors factors;
  bool shifted = false;
  float tolerance = 1e-3f;         ///< of the kept gradient
  float judged_tolerance = 1e-3f;  ///< of the exact one
  std::int64_t max_iterations = 0;
};

/// Problems of up to so many places keep their gradient in registers; larger ones need PairProblem::row.
inline constexpr int kRegisterPlaces = 12288;

/// At most `iterations` steps of each problem that is running, a block each.
void solve_pairs(core::Stream& stream, const SolveCall& call, int iterations);

/// v of each problem that is settled or exhausted, summed anew in double from alpha, and what follows from it; a
/// problem whose gap turns out too large is running again, with the new v, unless it is exhausted or no step was
/// possible since that last happened.
void judge_pairs(core::Stream& stream, const SolveCall& call);

// ---- working sets ----

/// Some rows of distances to all rows of a pair, and which of them are in the working set.
struct WorkingSetCall {
  const float* rows = nullptr;  ///< (slots, columns), with a pitch
  std::int64_t pitch = 0;
  int columns = 0;
  const int* slots = nullptr;    ///< (size): the slot of each member, or -1: an empty place
  const int* members = nullptr;  ///< (size): the column of each member
  int size = 0;
};

/// square[i][j] = rows[slots[i]][members[j]], (size, size); 0 where either is an empty place.
void gather_square(core::Stream& stream, const WorkingSetCall& call, float* square);

/// v[t] += sum_i steps[i] K(rows[slots[i]][t]), in double.
void add_steps(core::Stream& stream, const WorkingSetCall& call, const double* steps, KernelFactors factors,
               bool shifted, double* v);

// ---- decisions ----

/// f(x) = sum_s coefficient_s K(s, x) - rho of each row x and each pair of classes.
struct DecisionCall {
  const float* distances = nullptr;  ///< (support vectors, rows), with a pitch
  std::int64_t pitch = 0;
  int rows = 0;
  int present = 0;                      ///< classes
  const int* first = nullptr;           ///< (present + 1): where each class begins among the support vectors
  const float* coefficients = nullptr;  ///< (support vectors, present - 1), as in RbfSvmModel
  const double* rho = nullptr;          ///< (pairs)
  int parts = 0;                        ///< stretches that the support vectors of a class are cut into
  double* partial = nullptr;            ///< (parts, present, present - 1, rows): scratch
  float* result = nullptr;              ///< (rows, pairs)
  KernelFactors factors;
  bool shifted = false;
};
void sum_decisions(core::Stream& stream, const DecisionCall& call);

}  // namespace warpscope::classifiers::rbf
