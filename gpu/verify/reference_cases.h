#pragma once
// The reference's results of one op, each made once and shared by all variants and precisions that store alike.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/verify/op_check.h"

namespace warpscope::verify {

/// The precision that stands for all with the same element types: tf32 stores what fp32 does.
core::Precision storage_of(core::Precision precision);

class ReferenceCases {
 public:
  ReferenceCases(ops::Op op, std::vector<ops::OpShape> shapes, std::uint64_t seed)
      : op_(op), shapes_(std::move(shapes)), seed_(seed) {}

  const std::vector<ops::OpShape>& shapes() const { return shapes_; }

  /// Notes that get() will be asked for this.
  void want(std::size_t shape, core::Precision precision, std::span<const ops::Op> absorbed);

  /// Makes what is wanted on all cores. `go_on` is called between two results of the calling thread; false stops.
  void make(const std::function<bool()>& go_on);

  /// Throws core::Error if making it failed.
  const Case& get(std::size_t shape, core::Precision precision, std::span<const ops::Op> absorbed);

 private:
  using Key = std::tuple<std::size_t, core::Precision, std::vector<ops::Op>>;
  struct Entry {
    std::unique_ptr<Case> made;
    std::string error;
  };
  static Key key(std::size_t shape, core::Precision precision, std::span<const ops::Op> absorbed);
  void make_one(const Key& key, Entry& entry) const;

  ops::Op op_;
  std::vector<ops::OpShape> shapes_;
  std::uint64_t seed_;
  std::map<Key, Entry> entries_;
};

}  // namespace warpscope::verify
