#pragma once
// What ranks tell each other in words, and bytes of any number that rank 0 collects.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// A sentence of each rank, in their order, "" for none; every rank calls it with its own, of which 511 bytes count.
std::vector<std::string> gathered_texts(Group& group, const std::string& mine);

/// Throws core::BadInput that names the first rank with a sentence ("rank 2: no memory"), if there is one.
void refuse_first(const std::vector<std::string>& failures);

/// What each rank gives, however much each, in their order, on rank 0; nothing on the others. Every rank calls it.
std::vector<std::vector<std::byte>> collected(Group& group, std::span<const std::byte> mine);

/// The same of one rank that is not 0, of which all know how many `bytes` it gives; the others' `mine` does not count.
std::vector<std::byte> brought(Group& group, int from, std::size_t bytes, std::span<const std::byte> mine);

}  // namespace warpscope::ranks
