#pragma once
// What all ranks of a training do together in a step or behind it, as people are told where one of them does not come.

#include <cstdint>
#include <string>
#include <string_view>

namespace warpscope::ranks {

enum class Joint : std::uint8_t { gradients, moments, moments_gradient, evaluation, figures, weights };

/// `way`: the variant of the operation, or what the bytes go over.
struct Collective {
  Joint joint = Joint::gradients;
  std::string_view way;

  bool operator==(const Collective&) const = default;
};

/// "all-reduce nccl, step 1,234"; `at_most`: "all-reduce host_mpi, a step up to 1,234".
std::string told(const Collective& collective, std::uint64_t step, bool at_most = false);

/// The collective of an operation that adds over ranks, by its name: "gradients.allreduce". Throws core::Error where
/// the table has none.
Joint collective_of(std::string_view op);

}  // namespace warpscope::ranks
