#include "gpu/data/locate.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;
using files::is_there;
using Rows = std::vector<const SetRow*>;

constexpr const char* kBuiltin = "builtin";

std::string describe(const ImageShape& shape) {
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

bool suits(const SetRow& set, const Requirements& model) {
  return set.shape == model.shape &&
         (model.classes == 0 || std::cmp_less_equal(set.classes.size(), model.classes));
}

template <class Predicate>
Rows rows_that(const Predicate& predicate) {
  Rows rows;
  for (const SetRow& row : sets()) {
    if (predicate(row)) rows.push_back(&row);
  }
  return rows;
}

/// "a, b or c" of what `text` makes of the rows.
template <class Text>
std::string list(const Rows& rows, const Text& text, const char* before_last = " or ") {
  std::string words;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    words += i == 0 ? "" : i + 1 < rows.size() ? ", " : before_last;
    words += text(*rows[i]);
  }
  return words;
}

std::string title_of(const SetRow& row) {
  return std::string(row.title);
}

std::string name_of(const SetRow& row) {
  return std::string(row.name);
}

/// What the model can be trained on. Throws BadInput if that is nothing.
Rows suitable_sets(const Requirements& model) {
  Rows rows = rows_that([&](const SetRow& row) { return suits(row, model); });
  if (!rows.empty()) return rows;
  const Rows all = rows_that([](const SetRow&) { return true; });
  throw core::BadInput(fmt::format(
      "no data set has images of {}{}, which the model takes; valid: {}", describe(model.shape),
      model.classes > 0 ? fmt::format(" in at most {} classes", model.classes) : "",
      list(all, [](const SetRow& row) { return fmt::format("{} ({})", row.title, describe(row.shape)); })));
}

Rows in_files(const Rows& rows) {
  Rows found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [](const SetRow* row) { return !row->drawn(); });
  return found;
}

const SetRow* first_drawn(const Rows& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(), [](const SetRow* row) { return row->drawn(); });
  return found == rows.end() ? nullptr : *found;
}

bool has_name(const fs::path& folder, const SetRow& set) {
  std::error_code error;
  fs::path absolute = fs::absolute(folder, error).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // of "mnist/", and of "." within it
  return std::find(set.folders.begin(), set.folders.end(), absolute.filename().string()) != set.folders.end();
}

/// Of the sets with the same files, the one that a folder of this name holds.
const SetRow& owner(const fs::path& folder, const SetRow& set) {
  const Rows same = rows_that([&](const SetRow& row) { return !row.drawn() && row.holds == set.holds; });
  const auto named =
      std::find_if(same.begin(), same.end(), [&](const SetRow* row) { return has_name(folder, *row); });
  return named == same.end() ? *same.front() : **named;
}

/// Where the files of `set` are: in a folder of its name in `folder`, else in `folder` itself. `named`: it
/// was said that they are of this set; otherwise the name of the folder has to tell.
std::optional<fs::path> find_files(const SetRow& set, const fs::path& folder, bool named) {
  for (const std::string_view name : set.folders) {
    if (set.holds(folder / name)) return folder / name;
  }
  if (set.holds(folder) && (named || &owner(folder, set) == &set)) return folder;
  return std::nullopt;
}

Rows sets_in(const fs::path& folder) {
  return rows_that(
      [&](const SetRow& row) { return !row.drawn() && find_files(row, folder, false).has_value(); });
}

/// "" or, if `folder` holds other sets than the one that was looked for, a remark about that.
std::string remark_on_others(const fs::path& folder, const Requirements& model) {
  const Rows others = sets_in(folder);
  if (others.empty()) return "";
  const SetRow& other = *others.front();
  if (suits(other, model)) return fmt::format(": by its name it holds {}", other.title);
  return fmt::format(": it holds {}, with {} classes of images of {}, but the model takes {}", other.title,
                     other.classes.size(), describe(other.shape), describe(model.shape));
}

/// "MNIST needs A, B and C, in DIR or in a folder mnist there"
std::string needs(const Rows& wanted, const fs::path& folder) {
  std::string text;
  for (const SetRow* row : wanted) {
    text += fmt::format("{}{} needs {}, in {} or in a folder {} there", text.empty() ? "" : "; ", row->title,
                        row->files, folder.string(), fmt::join(row->folders, " or "));
  }
  return text;
}

[[noreturn]] void refuse_missing_folder(const std::string& folder) {
  const Rows all = rows_that([](const SetRow&) { return true; });
  throw core::BadInput(
      fmt::format("there is no folder {}, and no data set of that name; valid: {}, {}, a folder or "
                  "NAME:FOLDER",
                  folder, list(all, name_of, ", "), kBuiltin));
}

/// NAME:FOLDER
Location named_set_in(const SetRow& set, const std::string& folder) {
  if (set.drawn()) {
    throw core::BadInput(
        fmt::format("the {} are drawn, so that no folder holds them; write {}", set.title, set.name));
  }
  if (folder.empty()) {
    throw core::BadInput(fmt::format("no folder follows {0}:; valid: {0} or {0}:FOLDER", set.name));
  }
  if (!is_there(folder)) refuse_missing_folder(folder);
  if (const auto found = find_files(set, folder, true)) return {&set, *found, {}};
  throw core::BadInput(fmt::format("no {} in {}: {}", set.title, folder, needs({&set}, folder)));
}

/// FOLDER
Location set_in(const std::string& folder, const Rows& suitable, const Requirements& model) {
  if (!is_there(folder)) refuse_missing_folder(folder);
  const Rows wanted = in_files(suitable);
  Rows found;
  for (const SetRow* row : wanted) {
    if (find_files(*row, folder, false)) found.push_back(row);
  }
  if (found.size() == 1) return {found.front(), *find_files(*found.front(), folder, false), {}};
  if (found.size() > 1) {
    throw core::BadInput(
        fmt::format("{} holds {}; say which: {}", folder, list(found, title_of, " and "),
                    list(found, [&](const SetRow& row) { return fmt::format("{}:{}", row.name, folder); })));
  }
  const std::string remark = remark_on_others(folder, model);
  const std::string titles = list(wanted, title_of);
  if (remark.empty())
    throw core::BadInput(fmt::format("no {} in {}: {}", titles, folder, needs(wanted, folder)));
  throw core::BadInput(
      fmt::format("no {} in {}{}; name a folder with {}, or {}", titles, folder, remark, titles, kBuiltin));
}

/// Looks for the first of `wanted` in $WARPSCOPE_DATA. Nothing if that is not set; throws BadInput if it
/// holds none of them.
std::optional<Location> in_variable(const Rows& wanted, const Requirements& model) {
  const char* variable = std::getenv("WARPSCOPE_DATA");
  if (variable == nullptr || *variable == '\0') return std::nullopt;
  for (const SetRow* row : wanted) {
    if (const auto found = find_files(*row, variable, false)) return Location{row, *found, {}};
  }
  throw core::BadInput(fmt::format("$WARPSCOPE_DATA is {}, where there is no {}{}; correct or unset it",
                                   variable, list(wanted, title_of), remark_on_others(variable, model)));
}

/// Looks for the first of `wanted` in the cache folder, else says in `absent` why there is none.
std::optional<Location> in_cache(const Rows& wanted, std::string& absent) {
  const std::string titles = list(wanted, title_of);
  fs::path cache;
  try {
    cache = files::cache_dir();
  } catch (const core::Error& error) {
    absent = fmt::format("no {} found: {}", titles, error.what());
    return std::nullopt;
  }
  absent = fmt::format("no {} found in {}", titles, cache.string());
  for (const SetRow* row : wanted) {
    if (const auto found = find_files(*row, cache, false)) return Location{row, *found, {}};
  }
  return std::nullopt;
}

std::string fetch_hint(const SetRow& set) {
  return fmt::format("warpscope fetch {} brings it", set.name);
}

/// NAME
Location named_set(const SetRow& set, const Requirements& model) {
  if (set.drawn()) return {&set, {}, {}};
  if (const auto found = in_variable({&set}, model)) return *found;
  std::string absent;
  if (const auto found = in_cache({&set}, absent)) return *found;
  throw core::BadInput(fmt::format("{}; {}, or name the folder that holds it", absent, fetch_hint(set)));
}

/// Nothing was asked for.
Location any_set(const Rows& suitable, const Requirements& model) {
  const Rows wanted = in_files(suitable);
  const SetRow* drawn = first_drawn(suitable);
  std::string absent;
  if (!wanted.empty()) {
    if (const auto found = in_variable(wanted, model)) return *found;
    if (const auto found = in_cache(wanted, absent)) return *found;
  }
  if (drawn == nullptr) throw core::BadInput(fmt::format("{}; {}", absent, fetch_hint(*wanted.front())));
  if (wanted.empty()) return {drawn, {}, {}};
  return {drawn, {}, fmt::format("{}; using the {} ({})", absent, drawn->title, fetch_hint(*wanted.front()))};
}

/// Throws BadInput unless the model takes this set, which was named.
void check_suits(const SetRow& set, const Rows& suitable, const Requirements& model) {
  if (suits(set, model)) return;
  const std::string difference = set.shape == model.shape
                                     ? fmt::format("the classes of {} are {}, but the model tells apart {}",
                                                   set.title, set.classes.size(), model.classes)
                                     : fmt::format("the images of {} are {}, but the model takes {}",
                                                   set.title, describe(set.shape), describe(model.shape));
  throw core::BadInput(
      fmt::format("{}; valid: {}, {} or a folder", difference, list(suitable, name_of, ", "), kBuiltin));
}

/// What --data takes to find the same set again, from the model's images alone.
std::string option_of(const Location& location, const Requirements& model) {
  const SetRow& set = *location.set;
  const Rows suitable = suitable_sets(model);
  if (set.drawn()) return first_drawn(suitable) == &set ? kBuiltin : name_of(set);
  const Rows here = sets_in(location.folder);
  const bool alone =
      std::count_if(here.begin(), here.end(), [&](const SetRow* row) { return suits(*row, model); }) == 1;
  const bool found = alone && find_files(set, location.folder, false) == location.folder;
  return found ? location.folder.string() : fmt::format("{}:{}", set.name, location.folder.string());
}

}  // namespace

Location locate(const std::string& data_option, const Requirements& model) {
  const Rows suitable = suitable_sets(model);
  if (data_option.empty()) return any_set(suitable, model);
  if (data_option == kBuiltin) {
    const SetRow* drawn = first_drawn(suitable);
    if (drawn != nullptr) return {drawn, {}, {}};
    throw core::BadInput(
        fmt::format("no built-in images are of {}, which the model takes; valid: {} or a folder",
                    describe(model.shape), list(suitable, name_of, ", ")));
  }
  if (const SetRow* set = find_set(data_option)) {
    check_suits(*set, suitable, model);
    return named_set(*set, model);
  }
  const std::size_t colon = data_option.find(':');
  const SetRow* set = colon == std::string::npos ? nullptr : find_set(data_option.substr(0, colon));
  if (set == nullptr) return set_in(data_option, suitable, model);
  check_suits(*set, suitable, model);
  return named_set_in(*set, data_option.substr(colon + 1));
}

DataSet load(const std::string& data_option, std::string& notice, const Requirements& model) {
  const Location location = locate(data_option, model);
  notice = location.notice;
  DataSet loaded = location.set->load(*location.set, location.folder);
  loaded.name = location.set->title;
  loaded.source = option_of(location, model);
  return loaded;
}

}  // namespace warpscope::data
