#include "gpu/data/locate.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/data/near_misses.h"
#include "gpu/data/notices.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;
using files::is_there;
using Rows = std::vector<const SetRow*>;

constexpr const char* kBuiltin = "builtin";

/// As far as the table tells: a set of any shape makes itself suit the model or refuses when it is loaded.
bool suits(const SetRow& set, const Requirements& model) {
  const bool shape = set.any_shape() || set.shape == model.shape;
  const bool classes = model.classes == 0 || std::cmp_less_equal(set.classes.size(), model.classes);
  return set.texts == model.takes_texts() && shape && classes;
}

/// "images of 28x28x1"
std::string contents_of(const SetRow& row) {
  return row.texts ? "texts" : fmt::format("images of {}", describe(row.shape));
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

std::string option_name_of(const SetRow& row) {
  return std::string(row.name);
}

std::string files_of(const SetRow& row) {
  return std::string(row.files);
}

/// What the model can be trained on.
Rows suitable_sets(const Requirements& model) {
  return rows_that([&](const SetRow& row) { return suits(row, model); });
}

template <class Predicate>
Rows filtered(Rows rows, const Predicate& predicate) {
  std::erase_if(rows, [&](const SetRow* row) { return !predicate(*row); });
  return rows;
}

Rows published(const Rows& rows) {
  return filtered(rows, [](const SetRow& row) { return row.published(); });
}

/// Those that only a name finds.
Rows named(const Rows& rows) {
  return filtered(rows, [](const SetRow& row) { return !row.own(); });
}

/// There always is one: scenes are drawn at any shape.
const SetRow& first_drawn(const Rows& rows) {
  return **std::ranges::find_if(rows, [](const SetRow* row) { return row->drawn(); });
}

/// The last part of its path.
std::string name_of(const fs::path& folder) {
  return files::absolute_path(folder).filename().string();
}

bool has_name(const fs::path& folder, const SetRow& set) {
  const std::string absolute = files::absolute_path(folder).string();
  return std::ranges::any_of(
      set.folders, [&](std::string_view name) { return absolute.ends_with(fmt::format("/{}", name)); });
}

/// The set that a folder of this name holds, among those with the same files.
const SetRow& owner(const fs::path& folder, const SetRow& set) {
  const Rows same = rows_that([&](const SetRow& row) { return !row.drawn() && row.holds == set.holds; });
  const auto named = std::ranges::find_if(same, [&](const SetRow* row) { return has_name(folder, *row); });
  return named == same.end() ? *same.front() : **named;
}

/// False if the files in `folder` tell that their images are of another shape than those of `set`.
bool has_shape(const fs::path& folder, const SetRow& set) {
  return set.any_shape() || set.shape_in == nullptr || set.shape_in(folder).value_or(set.shape) == set.shape;
}

/// Where the files of `set` are: in a folder of its name in `folder`, else in `folder` itself. `named`: it
/// was said that they are of this set; otherwise the name of the folder and the size of the images have to tell.
std::optional<fs::path> find_files(const SetRow& set, const fs::path& folder, bool named) {
  for (const std::string_view name : set.folders) {
    if (set.holds(folder / name)) return folder / name;
  }
  if (set.holds(folder) && (named || (&owner(folder, set) == &set && has_shape(folder, set)))) return folder;
  return std::nullopt;
}

Rows published_in(const fs::path& folder) {
  return rows_that(
      [&](const SetRow& row) { return row.published() && find_files(row, folder, false).has_value(); });
}

/// The form in which a person's own set lies in `folder`: one whose images fit the model, if there is one.
const SetRow* own_form_in(const fs::path& folder, const Requirements& model, bool fitting) {
  const Rows found = rows_that([&](const SetRow& row) { return row.own() && row.holds(folder); });
  const auto fits = std::ranges::find_if(found, [&](const SetRow* row) {
    return row->texts == model.takes_texts() &&
           (row->shape_in == nullptr || row->shape_in(folder) == model.shape);
  });
  if (fits != found.end()) return *fits;
  return fitting || found.empty() ? nullptr : found.front();
}

/// "28x28x1", and how many classes if only the shape is that of the set.
std::string taken(const Requirements& model, const SetRow& other) {
  if (other.texts != model.takes_texts()) return model.takes_texts() ? "texts" : describe(model.shape);
  if (model.takes_texts())
    return fmt::format("texts in at most {}", files::counted(model.classes, "class", "classes"));
  if (other.shape != model.shape) return describe(model.shape);
  return fmt::format("{} in at most {}", describe(model.shape),
                     files::counted(model.classes, "class", "classes"));
}

/// "" or, if `folder` holds other sets than the one that was looked for, a remark about that.
std::string remark_on_others(const fs::path& folder, const Requirements& model) {
  const Rows others = published_in(folder);
  if (others.empty()) return "";
  const SetRow& other = *others.front();
  if (suits(other, model)) return fmt::format(": by its name it holds {}", other.title);
  return fmt::format(": it holds {}, with {} classes of {}, but {} takes {}", other.title,
                     other.classes.size(), contents_of(other), model.name, taken(model, other));
}

/// For its folders those that people would make.
std::vector<std::string_view> own_names(const SetRow& set) {
  std::vector<std::string_view> names = set.folders;
  std::erase_if(names, [](std::string_view name) { return name.find('/') != std::string_view::npos; });
  return names;
}

/// "MNIST needs A, B and C, in DIR or in a folder mnist there"
std::string needs(const Rows& wanted, const fs::path& folder) {
  std::string text;
  for (const SetRow* row : wanted) {
    text += fmt::format("{}{} needs {}, in {} or in a folder {} there", text.empty() ? "" : "; ", row->title,
                        row->files, folder.string(), fmt::join(own_names(*row), " or "));
  }
  return text;
}

/// What a set of a person's own needs.
std::string own_needs(const Requirements& model) {
  const Rows own =
      rows_that([&](const SetRow& row) { return row.own() && row.texts == model.takes_texts(); });
  return fmt::format("a set of your own needs {}", list(own, files_of, ", or "));
}

[[noreturn]] void refuse_missing_folder(const std::string& folder) {
  const Rows all = rows_that([](const SetRow& row) { return !row.own(); });
  throw core::BadInput(
      fmt::format("there is no folder {}, and no data set of that name; valid: {}, {}, a folder or "
                  "NAME:FOLDER",
                  folder, list(all, option_name_of, ", "), kBuiltin));
}

void check_is_folder(const std::string& folder, bool texts) {
  std::error_code failure;
  if (fs::is_regular_file(folder, failure)) throw core::BadInput(near_miss(folder, texts));
  if (!fs::is_directory(folder, failure))
    throw core::BadInput(fmt::format("{} is neither a file nor a folder", folder));
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
  check_is_folder(folder, set.texts);
  if (const auto found = find_files(set, folder, true)) return {&set, *found, {}};
  const std::string miss = near_miss(folder, set.texts);
  if (!miss.empty()) throw core::BadInput(fmt::format("no {} in {}: {}", set.title, folder, miss));
  throw core::BadInput(
      fmt::format("no {} in {}: {}", set.title, folder,
                  set.own() ? fmt::format("they need {}", set.files) : needs({&set}, folder)));
}

/// Those of `wanted` whose files are in `folder`.
Rows found_in(const fs::path& folder, const Rows& wanted) {
  return filtered(wanted, [&](const SetRow& row) { return find_files(row, folder, false).has_value(); });
}

/// FOLDER: a published set, else a person's own.
Location set_in(const std::string& folder, const Rows& suitable, const Requirements& model) {
  if (!is_there(folder)) refuse_missing_folder(folder);
  check_is_folder(folder, model.takes_texts());
  const Rows wanted = published(suitable);
  const Rows found = found_in(folder, wanted);
  if (found.size() == 1) return {found.front(), *find_files(*found.front(), folder, false), {}};
  if (found.size() > 1) {
    throw core::BadInput(
        fmt::format("{} holds {}; say which: {}", folder, list(found, title_of, " and "),
                    list(found, [&](const SetRow& row) { return fmt::format("{}:{}", row.name, folder); })));
  }
  if (const SetRow* own = own_form_in(folder, model, true)) return {own, folder, {}};
  const std::string remark = remark_on_others(folder, model);
  const std::string things = model.takes_texts() ? "texts" : "images";
  const std::string titles = wanted.empty() ? things : list(wanted, title_of);
  if (!remark.empty()) {
    throw core::BadInput(
        fmt::format("no {} in {}{}; name a folder with {}, or {}", titles, folder, remark, titles, kBuiltin));
  }
  // Its loader says what does not fit.
  if (const SetRow* own = own_form_in(folder, model, false)) return {own, folder, {}};
  const std::string miss = near_miss(folder, model.takes_texts());
  if (!miss.empty()) throw core::BadInput(fmt::format("no {} in {}: {}", titles, folder, miss));
  const std::string missing = needs(wanted, folder);
  throw core::BadInput(fmt::format("no {} in {}: {}{}{}", titles, folder, missing,
                                   missing.empty() ? "" : "; ", own_needs(model)));
}

/// Looks for the first of `wanted`, or also for a person's `own` set, in $WARPSCOPE_DATA. Nothing if that is not
/// set; throws BadInput if it holds none of them.
std::optional<Location> in_variable(const Rows& wanted, const Requirements& model, bool own) {
  const char* variable = std::getenv("WARPSCOPE_DATA");
  if (variable == nullptr || *variable == '\0') return std::nullopt;
  for (const SetRow* row : wanted) {
    if (const auto found = find_files(*row, variable, false)) return Location{row, *found, {}};
  }
  const SetRow* form = own && is_there(variable) ? own_form_in(variable, model, true) : nullptr;
  if (form != nullptr) return Location{form, variable, {}};
  std::string remark = remark_on_others(variable, model);
  const std::string miss = remark.empty() ? near_miss(variable, model.takes_texts()) : "";
  if (!miss.empty()) remark = ": " + miss;
  throw core::BadInput(fmt::format("$WARPSCOPE_DATA is {}, where there is no {}{}; correct or unset it",
                                   variable, wanted.empty() ? "set of images" : list(wanted, title_of),
                                   remark));
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
  if (!set.brought_by.empty()) return std::string(set.brought_by);
  return fmt::format("warpscope fetch {} brings it", set.name);
}

/// NAME
Location named_set(const SetRow& set, const Requirements& model) {
  if (set.drawn()) return {&set, {}, {}};
  if (const auto found = in_variable({&set}, model, false)) return *found;
  std::string absent;
  if (const auto found = in_cache({&set}, absent)) return *found;
  throw core::BadInput(fmt::format("{}; {}, or name the folder that holds it", absent, fetch_hint(set)));
}

/// Nothing was asked for.
Location any_set(const Rows& suitable, const Requirements& model) {
  const Rows wanted = published(suitable);
  const SetRow& drawn = first_drawn(suitable);
  if (const auto found = in_variable(wanted, model, true)) return *found;
  if (wanted.empty()) {
    return {&drawn,
            {},
            fmt::format("no data were named; using the {} at {} (--data takes a folder of your own)",
                        drawn.title, describe(model.shape))};
  }
  std::string absent;
  if (const auto found = in_cache(wanted, absent)) return *found;
  return {&drawn, {}, fmt::format("{}; using the {} ({})", absent, drawn.title, fetch_hint(*wanted.front()))};
}

/// Throws BadInput unless the model takes this set, which was named. `what`: its title, or a person's own folder.
void check_suits(const SetRow& set, const std::string& what, const Rows& suitable,
                 const Requirements& model) {
  if (suits(set, model)) return;
  try {
    check_kind(what, set.texts, model);
    if (!set.any_shape()) check_shape(what, set.shape, model);
    Requirements here = model;
    here.classes_by_name = false;
    check_classes(what, set.classes.size(), here);
  } catch (const core::BadInput& difference) {
    throw core::BadInput(fmt::format("{}; valid: {}, {} or a folder", difference.what(),
                                     list(named(suitable), option_name_of, ", "), kBuiltin));
  }
}

/// What --data takes to find the same set again, wherever the program is started.
std::string option_of(const Location& location, const Requirements& model) {
  const SetRow& set = *location.set;
  const Rows suitable = suitable_sets(model);
  if (set.drawn()) return &first_drawn(suitable) == &set ? kBuiltin : option_name_of(set);
  const Rows here = found_in(location.folder, published(suitable));
  const SetRow* alone = here.size() == 1 ? here.front() : nullptr;
  if (here.empty()) alone = own_form_in(location.folder, model, true);
  const bool found = alone == &set && find_files(set, location.folder, false) == location.folder;
  const std::string folder = files::absolute_path(location.folder).string();
  return found ? folder : fmt::format("{}:{}", set.name, folder);
}

}  // namespace

Location locate(const std::string& data_option, const Requirements& model) {
  const Rows suitable = suitable_sets(model);
  if (data_option.empty()) return any_set(suitable, model);
  if (data_option == kBuiltin) return {&first_drawn(suitable), {}, {}};
  if (const SetRow* set = find_set(data_option); set != nullptr && !set->own()) {
    check_suits(*set, title_of(*set), suitable, model);
    return named_set(*set, model);
  }
  const std::size_t colon = data_option.find(':');
  const SetRow* set = colon == std::string::npos ? nullptr : find_set(data_option.substr(0, colon));
  if (set == nullptr) return set_in(data_option, suitable, model);
  if (!set->own()) check_suits(*set, title_of(*set), suitable, model);
  const Location location = named_set_in(*set, data_option.substr(colon + 1));
  if (set->own()) check_suits(*set, location.folder.string(), suitable, model);
  return location;
}

DataSet load(const std::string& data_option, std::string& notice, const Requirements& model,
             const Stopped& stopped) {
  const Location location = locate(data_option, model);
  check_kind(location.set->own() ? location.folder.string() : title_of(*location.set), location.set->texts,
             model);
  DataSet loaded = location.set->load(*location.set, location.folder, model, stopped);
  loaded.name = location.set->own() ? name_of(location.folder) : title_of(*location.set);
  loaded.source = option_of(location, model);
  check_classes(loaded.name, loaded.classes.size(), model);
  notice = location.notice;
  add_notice(loaded.notice, notice);
  return loaded;
}

}  // namespace warpscope::data
