#pragma once
// JSON that anybody may have written.

#include <nlohmann/json.hpp>
#include <string_view>

namespace warpscope::files {

/// Whether arrays and objects of `text`, which is to be JSON, lie in one another more deeply than in any file that the
/// program writes. Such values must not be read: copies and writers go down them by recursion until the stack ends.
bool is_deep_json(std::string_view text);

/// The value in `text`; json::is_discarded() where it is not JSON, or is_deep_json().
nlohmann::json read_json(std::string_view text);

}  // namespace warpscope::files
