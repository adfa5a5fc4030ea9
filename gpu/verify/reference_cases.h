#pragma once
// The reference's results of one op, each made once and shared by all variants and precisions that store
// alike.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/verify/op_check.h"

namespace warpscope::verify {

/// The precision that stands for all with the same element types: tf32 stores what fp32 does.
core::Precision storage_of(core::Precision precision);

class ReferenceCases {
 public:
  ReferenceCases(ops::Op op, std::uint64_t seed) : op_(op), seed_(seed) {}

  /// Notes that get() will be asked for this call of a variant of the op.
  void want(const ops::Variant& variant, const ops::OpShape& shape, core::Precision precision);

  /// Makes what is wanted on all cores. `go_on` is called between two results of the calling thread; false
  /// stops.
  void make(const std::function<bool()>& go_on);

  /// Throws core::Error if making it failed.
  const Case& get(const ops::Variant& variant, const ops::OpShape& shape, core::Precision precision);

 private:
  struct Entry {
    ops::Variant variant;  ///< the first that wanted it
    ops::OpShape shape;
    core::Precision precision{};
    std::unique_ptr<Case> made = {};
    std::string error = {};
  };
  /// A call as read by people, with what the call covers and how its operands are bound.
  using Key = std::tuple<std::string, core::Precision, std::vector<int>>;
  Entry& entry(const ops::Variant& variant, const ops::OpShape& shape, core::Precision precision);
  void make_one(Entry& entry) const;

  ops::Op op_;
  std::uint64_t seed_;
  std::map<Key, Entry> entries_;
};

}  // namespace warpscope::verify
