#include <algorithm>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/byte_text.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"
#include "gpu/settings/configuration.h"

namespace warpscope::training {
namespace {

constexpr std::size_t kCommentColumn = 32;

// --- reading

struct Key {
  std::string_view table, name;
  bool is_text = false;
};

std::vector<Key> known_keys() {
  std::vector<Key> keys;
  for (const Setting& row : settings()) keys.push_back({row.table, row.key, row.field.kind == Kind::text});
  return keys;
}

/// A mistake and where it is. Only the first in the file is told; toml++ lists tables and keys by name.
struct Mistakes {
  toml::source_position first = {};
  std::string sentence;

  void add(const toml::source_region& where, std::string_view what) {
    const toml::source_position& at = where.begin;
    if (!sentence.empty() && std::tie(first.line, first.column) <= std::tie(at.line, at.column)) return;
    first = at;
    sentence = files::escaped(what);
  }
};

std::optional<Value> value_of(const toml::node& node) {
  if (const auto* boolean = node.as_boolean()) return Value(boolean->get());
  if (const auto* integer = node.as_integer()) return Value(integer->get());
  if (const auto* real = node.as_floating_point()) return Value(real->get());
  if (const auto* text = node.as_string()) return Value(text->get());
  return std::nullopt;
}

std::string kind_of(const toml::node& node) {
  if (node.is_table()) return "a table";
  return node.is_array() ? "an array" : "a date or time";
}

/// The valid key that `name` is most likely meant for; one in another table is a little less likely.
const Key& nearest_key(const std::vector<Key>& keys, std::string_view table, std::string_view name) {
  const auto distance = [&](const Key& key) {
    return 2 * files::edit_distance(name, key.name) + (key.table == table ? 0 : 1);
  };
  return *std::ranges::min_element(keys,
                                   [&](const Key& a, const Key& b) { return distance(a) < distance(b); });
}

/// What is valid instead of `name` in `table`: the key that was meant, or all of them where none is near.
std::string valid_keys(const std::vector<Key>& keys, std::string_view table, std::string_view name) {
  const Key& near = nearest_key(keys, table, name);
  if (2 * files::edit_distance(name, near.name) <= static_cast<int>(name.size())) {
    return fmt::format("the nearest valid one is {}{}", near.name,
                       near.table == table ? "" : fmt::format(" in [{}]", near.table));
  }
  std::vector<std::string_view> names;
  for (const Key& key : keys) {
    if (key.table == table) names.push_back(key.name);
  }
  return fmt::format("valid: {}", fmt::join(names, ", "));
}

std::string_view nearest_table(const std::vector<Key>& keys, std::string_view name) {
  return std::ranges::min_element(keys,
                                  [&](const Key& a, const Key& b) {
                                    return files::edit_distance(name, a.table) <
                                           files::edit_distance(name, b.table);
                                  })
      ->table;
}

/// The key of a text that is not UTF-8, which TOML cannot hold.
std::string bytes_key(std::string_view name) {
  return std::string(name) += files::kBytesOf;
}

void find_unknown_keys(const toml::table& table, std::string_view name, const std::vector<Key>& keys,
                       Mistakes& mistakes) {
  for (const auto& [key, node] : table) {
    const bool known = std::ranges::any_of(keys, [&, &text = key](const Key& valid) {
      return valid.table == name &&
             (valid.name == text.str() || (valid.is_text && bytes_key(valid.name) == text.str()));
    });
    if (known) continue;
    mistakes.add(key.source(), fmt::format("unknown key '{}' in [{}]; {}", key.str(), name,
                                           valid_keys(keys, name, key.str())));
  }
}

void find_unknown_tables(const toml::table& root, const std::vector<Key>& keys, Mistakes& mistakes) {
  for (const auto& [key, node] : root) {
    const bool known =
        std::ranges::any_of(keys, [&, &text = key](const Key& valid) { return valid.table == text.str(); });
    if (known && node.is_table()) {
      find_unknown_keys(*node.as_table(), key.str(), keys, mistakes);
    } else if (known) {
      mistakes.add(key.source(),
                   fmt::format("{0} is a table: its settings stand below a line [{0}]", key.str()));
    } else if (node.is_table()) {
      mistakes.add(key.source(), fmt::format("unknown table [{}]; the nearest valid one is [{}]", key.str(),
                                             nearest_table(keys, key.str())));
    } else {
      const Key& near = nearest_key(keys, "", key.str());
      mistakes.add(key.source(),
                   fmt::format("unknown key '{}' outside of the tables; the nearest valid one is {} in [{}]",
                               key.str(), near.name, near.table));
    }
  }
}

void read_setting(const toml::table& root, const Setting& row, Configuration& to, Mistakes& mistakes) {
  const toml::node* const bytes =
      row.field.kind == Kind::text ? root[row.table][bytes_key(row.key)].node() : nullptr;
  const toml::node* const node = bytes != nullptr ? bytes : root[row.table][row.key].node();
  if (node == nullptr) return;
  std::optional<Value> value = value_of(*node);
  std::string objection =
      value ? check_value(row, *value) : fmt::format(" takes a single value, not {}", kind_of(*node));
  if (bytes != nullptr && objection.empty()) {
    if (const auto decoded = files::percent_decoded(std::get<std::string>(*value))) {
      value = *decoded;
    } else {
      objection = " has a % without two hexadecimal digits";
    }
  }
  if (!objection.empty()) return mistakes.add(node->source(), fmt::format("{}{}", row.key, objection));
  to.put(row, std::move(*value));
}

// --- writing

std::string quoted(const std::string& text) {
  const toml::value<std::string> node(text);
  std::ostringstream written;
  written << toml::toml_formatter(node, toml::format_flags::allow_unicode_strings);
  return written.str();
}

std::string text_of(const Value& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return text != nullptr ? quoted(*text) : to_string(value);
}

std::string line_of(const Setting& row, const Value& value, bool given) {
  std::string line = given ? "" : "# ";
  const auto* const text = std::get_if<std::string>(&value);
  if (text != nullptr && !files::is_utf8(*text)) {
    line += fmt::format("{} = {}", bytes_key(row.key), quoted(files::percent_encoded(*text)));
  } else {
    line += fmt::format("{} = {}", row.key, text_of(value));
  }
  return fmt::format("{:<{}}  # {}\n", line, kCommentColumn, describe(row));
}

}  // namespace

Configuration parse_toml(std::string_view text, std::string_view name) {
  if (files::has_deep_key(text)) {
    throw core::BadInput(fmt::format("{}: a key has more than 100 parts; a setting's have one", name));
  }
  toml::table root;
  try {
    root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    throw core::BadInput(
        fmt::format("{}:{}:{}: {}", name, at.line, at.column, files::one_sentence(error.description())));
  }
  Mistakes mistakes;
  find_unknown_tables(root, known_keys(), mistakes);
  Configuration configuration;
  for (const Setting& row : settings()) read_setting(root, row, configuration, mistakes);
  if (!mistakes.sentence.empty()) {
    throw core::BadInput(
        fmt::format("{}:{}:{}: {}", name, mistakes.first.line, mistakes.first.column, mistakes.sentence));
  }
  return configuration;
}

std::string to_toml(const Configuration& configuration, const core::DeviceInfo& device) {
  std::string text =
      "# Settings of a training (warpscope --config FILE); the command line overrides them. A line that "
      "begins with #\n"
      "# is not set and shows what applies; without the # it is.\n";
  const Configuration known = resolve(configuration, &device);
  std::string_view table;
  for (const Setting& row : settings()) {
    if (table != row.table) text += fmt::format("\n[{}]\n", row.table);
    table = row.table;
    text += line_of(row, *known.find(row.name), configuration.has(row.name));
  }
  return text;
}

void write_toml(const Configuration& configuration, const core::DeviceInfo& device,
                const std::filesystem::path& file) {
  files::write_file_atomically(file, to_toml(configuration, device));
}

}  // namespace warpscope::training
