#pragma once
// An iteration of t-SNE on the device: the forces on each point, then the step along them.

#include <cstdint>

#include "gpu/core/device.h"

namespace warpscope::maps {

/// Normalizers and divergences are summed by blocks of so many points.
inline constexpr int kPointsOfBlock = 8;

inline std::int64_t point_blocks(std::int64_t points) {
  return (points + kPointsOfBlock - 1) / kPointsOfBlock;
}

/// A sum over pairs, by blocks of points.
struct PairSums {
  double normalizer = 0;  ///< sum of (1 + |y_i - y_j|^2)^-1 over the points i of the block and all j != i
  double attraction = 0;  ///< sum of p_ij log(1 + |y_i - y_j|^2), the same
};

/// All in device memory.
struct TsneMemory {
  int points = 0;
  const int* starts = nullptr;  ///< P in compressed rows: (points + 1)
  const int* columns = nullptr;
  const float* affinities = nullptr;  ///< p_ij; all of them sum up to 1
  float* positions = nullptr;         ///< (points, 2), row by row; the same for those below
  float* velocities = nullptr;
  float* gains = nullptr;
  float* attraction = nullptr;  ///< sum over j of p_ij (1 + |y_i - y_j|^2)^-1 (y_i - y_j)
  float* repulsion = nullptr;   ///< sum over j of (1 + |y_i - y_j|^2)^-2 (y_i - y_j)
  PairSums* sums = nullptr;     ///< (point_blocks)
  float* partial = nullptr;     ///< (chunks, 3, points): scratch of CUDA
  int chunks = 0;               ///< see repulsion_chunks()
};

/// Parts into which CUDA cuts the other points of each point, so that all multiprocessors have work; 1 on the CPU.
int repulsion_chunks(const core::DeviceInfo& device, std::int64_t points);

/// Enqueues `attraction`, `repulsion` and `sums` of the positions of now. Pairs are summed in FP32 over at most some
/// thousand points at a time; the same bits every time.
void find_forces(const core::Device& device, core::Stream& stream, const TsneMemory& memory);

struct TsneStep {
  float exaggeration = 1;
  float momentum = 0.8f;
  float learning_rate = 0;
};

/// Enqueues, from the forces of find_forces() and Z = sum of the normalizers,
///
///   g = 4 (exaggeration attraction - repulsion / Z)                              the gradient of KL(P || Q)
///   gain <- max(0.01, gain + 0.2 where velocity g < 0, else 0.8 gain)
///   velocity <- momentum velocity - learning_rate gain g,  position <- position + velocity
///
/// Source: L. van der Maaten, G. Hinton (2008), section 3.4; gains: R. Jacobs, "Increased rates of convergence through
/// learning rate adaptation" (1988).
void move_points(const core::Device& device, core::Stream& stream, const TsneMemory& memory,
                 const TsneStep& step);

// ---- on CUDA ----

int repulsion_chunks_cuda(int multiprocessors, std::int64_t points);
void find_forces_cuda(core::Stream& stream, const TsneMemory& memory);
void move_points_cuda(core::Stream& stream, const TsneMemory& memory, const TsneStep& step);

}  // namespace warpscope::maps
