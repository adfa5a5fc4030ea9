#pragma once
// The one rule by which labels of data are held against a network's classes, whatever the data come from.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace warpscope::inference {

/// What is known of the names of some data's classes.
enum class Naming : std::uint8_t {
  of_a_set,     ///< all its classes, in their order: a place in it says something
  as_they_come  ///< those that stand beside some texts, in no order
};

/// Of each class in `data` the place of its name in `network`; -1 where that is no name of the network's, or that of
/// several. Names are compared as run.json keeps them (runs::valid_utf8()).
///
/// Classes of a set keep their own places instead where names cannot tell: the network has none; both have the same;
/// the names of one side are numbers and those of the other are not, and the set's are 0, 1, 2, ... as IDX files have
/// them, or both sides have as many.
std::vector<int> match_classes(const std::vector<std::string>& data, const std::vector<std::string>& network,
                               Naming naming);

/// A sentence about the labels, each a place in `data` or -1 for none, whose class matches no class of the network:
/// how many there are and what they are called. "" if there are none. `matches`: of match_classes().
std::string tell_unknown(std::span<const int> labels, const std::vector<std::string>& data,
                         const std::vector<int>& matches);

}  // namespace warpscope::inference
