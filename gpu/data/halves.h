#pragma once
// What people call the parts of a data set: folders and files of training, test and validation data.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace warpscope::data {

enum class Half : std::uint8_t { train, test, validation };

/// In small or capital letters: train, training; test, testing, t10k; val, valid, validation.
std::optional<Half> half_of(std::string_view name);

/// The same, also with set, data, dataset, images, imgs, pictures or texts behind it: "trainset", "Test_Images".
std::optional<Half> half_of_set(std::string_view name);

/// half_of_set() of one of the words in a name: "seg_train", "Corona_NLP_test". Nothing where they name several.
std::optional<Half> half_in(std::string_view name);

/// A name without the words that name halves: "seg_" of "seg_train" and of "seg_test".
std::string without_half(std::string_view name);

/// Begins with a point, or is a folder that systems add to people's own: "__MACOSX".
bool is_hidden(const std::filesystem::path& path);

/// What is in a folder, by name, but for what is hidden; of one that cannot be read to its end what came before that.
std::vector<std::filesystem::directory_entry> shown_in(const std::filesystem::path& folder,
                                                       std::error_code& failure);
/// The same. Throws BadInput that names a folder that cannot be read.
std::vector<std::filesystem::directory_entry> shown_in(const std::filesystem::path& folder);

/// A path for each half, by Half; empty where there is none.
using Halves = std::array<std::filesystem::path, 3>;

using NamedHalf = std::optional<Half> (*)(std::string_view name);

/// Those of `paths` that `half` (of a name without its ending) takes for one. Throws BadInput that names both where two
/// are the same half.
Halves find_halves(std::span<const std::filesystem::path> paths, NamedHalf half);
/// The same by `first`, and by `then` for the halves that this does not find.
Halves find_halves(std::span<const std::filesystem::path> paths, NamedHalf first, NamedHalf then);

std::filesystem::path& of(Halves& halves, Half half);
const std::filesystem::path& of(const Halves& halves, Half half);

/// "test", as its folder is called.
std::string_view to_string(Half half);

/// What becomes of what is there to validate with: it steers, or tests where nothing else does. `thing`: "image" or
/// "text"; `where`: their folder or file.
std::string tell_validation(bool tests, std::int64_t count, std::string_view thing, const std::string& where);

}  // namespace warpscope::data
