#include "gpu/user_kernels/compiler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/file.h"
#include "gpu/files/paths.h"
#include "gpu/files/sha256.h"
#include "gpu/files/text.h"
#include "gpu/user_kernels/both_builds.h"
#include "gpu/user_kernels/cache.h"
#include "gpu/user_kernels/kept_headers.h"
#include "gpu/user_kernels/nvrtc.h"
#include "gpu/user_kernels/process.h"

namespace warpscope::user_kernels {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr std::size_t kMostHeader = std::size_t{16} << 20;
constexpr auto kLongestCompile = std::chrono::minutes(10);

/// Nothing waits for the disk: what a power cut leaves of it fits no checksum.
void write_for_now(const fs::path& path, std::string_view text) {
  files::AtomicFile file(path);
  file.write(text);
  file.commit(false);
}

std::string sha256_of(std::string_view text) {
  files::Sha256 sum;
  sum.update(text.data(), text.size());
  return sum.finish();
}

/// The compiler and the words that come before its options.
struct Compiler {
  fs::path program;
  std::vector<std::string> words;
};

fs::path on_path(const std::string& name) {
  std::error_code error;
  if (name.find('/') != std::string::npos) return fs::exists(name, error) ? fs::path(name) : fs::path();
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::path(folder) / name;
    if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, error)) return file;
  }
  return {};
}

Compiler find_compiler() {
  const char* const chosen = std::getenv("CXX");
  std::istringstream typed(chosen == nullptr ? "" : chosen);
  Compiler found;
  std::string first;
  typed >> first;
  for (std::string word; typed >> word;) found.words.push_back(word);
  if (!first.empty()) {
    found.program = on_path(first);
    if (!found.program.empty()) return found;
    throw core::BadInput(
        fmt::format("the compiler that CXX names, {}, is not on this machine", files::sayable(first)));
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    found.program = on_path(name);
    if (!found.program.empty()) return found;
  }
  throw core::BadInput("there is no C++ compiler: install g++ or clang++, or name one in CXX");
}

/// Code for one processor runs on no other that lacks something.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) return line;
  }
  return "";
}

std::vector<std::string> options_of(bool checked) {
  std::vector<std::string> options{"-std=c++20",          "-shared",  "-fPIC",
                                   "-fvisibility=hidden", "-pthread", "-Wl,-z,defs"};
  if (checked) {
    options.insert(options.end(), {"-O1", "-DWARPSCOPE_CHECKED=1"});
  } else {
    options.insert(options.end(), {"-O3", "-march=native"});
  }
  return options;
}

/// What decides of the code beside the person's own headers.
std::string key_of(const Source& source, const CompileOptions& options, const Compiler& compiler,
                   const fs::path& include, bool checked) {
  std::error_code error;
  const fs::path real = fs::canonical(compiler.program, error);
  std::ostringstream text;
  text << real << fs::file_size(real, error) << ' '
       << fs::last_write_time(real, error).time_since_epoch().count() << '\n'
       << processor() << '\n'
       << include.filename() << '\n'
       << files::absolute_path(source.file).parent_path();
  for (const fs::path& each : options.includes) text << files::absolute_path(each);
  for (const std::string& word : compiler.words) text << word << '\n';
  for (const std::string& word : options_of(checked)) text << word << '\n';
  text << source.text;
  return sha256_of(text.str()).substr(0, 32);
}

/// The files behind the colon of a rule of make's.
std::vector<std::string> files_of_rule(const std::string& rule) {
  std::vector<std::string> names;
  std::string name;
  const auto end = [&] {
    if (!name.empty()) names.push_back(std::exchange(name, ""));
  };
  for (std::size_t i = std::min(rule.find(": "), rule.size()); i < rule.size(); ++i) {
    if (rule[i] == '\\' && i + 1 < rule.size()) {
      if (rule[++i] != '\n') name += rule[i];
    } else if (rule[i] == ' ' || rule[i] == '\n') {
      end();
    } else if (rule[i] != ':') {
      name += rule[i];
    }
  }
  end();
  return names;
}

/// "CHECKSUM FILE" for each of the person's own headers. One that is newer than `own`, which was written just before,
/// may be another than what was compiled: its row fits no file.
std::string headers_noted(const fs::path& rule, const fs::path& own) {
  std::error_code error;
  const fs::file_time_type begun = fs::last_write_time(own, error);
  std::string noted;
  for (const std::string& name : files_of_rule(files::read_small_file(rule, kMostOutput).value_or(""))) {
    if (fs::path(name) == own) continue;
    const bool as_compiled = fs::last_write_time(name, error) <= begun;
    noted += fmt::format(
        "{} {}\n",
        as_compiled ? sha256_of(files::read_small_file(name, kMostHeader).value_or("")) : "changed", name);
  }
  return noted;
}

/// The code that `note` names in its first row, if it and all headers that it was made of are as they were.
std::optional<fs::path> made_before(const fs::path& note) {
  const auto noted = files::read_small_file(note, kMostOutput);
  if (!noted) return std::nullopt;
  std::istringstream lines(*noted);
  std::optional<fs::path> code;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) return std::nullopt;
    const fs::path file = note.parent_path() / line.substr(blank + 1);
    const auto now = files::read_small_file(file, kMostHeader);
    if (!now || sha256_of(*now) != line.substr(0, blank)) return std::nullopt;
    if (!code) code = file;
  }
  return code;
}

/// Files that only one compile needs.
struct Scratch {
  fs::path text;
  fs::path code;
  fs::path rule;

  Scratch(const fs::path& folder, const std::string& name)
      : text(folder / (name + ".cpp")), code(folder / (name + ".so")), rule(folder / (name + ".d")) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    for (const fs::path* each : {&text, &code, &rule}) fs::remove(*each, ignored);
  }
};

/// Moves the code to where it stays and writes the note. Its name tells what is in it: what another process compiles of
/// other headers lies beside it, and dlopen() takes none for one that it has loaded already.
fs::path keep(const Scratch& scratch, const fs::path& note) {
  const std::string sum = sha256_of(files::read_text(scratch.code));
  const fs::path code = note.parent_path() / fmt::format("{}-{}.so", note.stem().string(), sum.substr(0, 16));
  const std::string rows =
      fmt::format("{} {}\n{}", sum, code.filename().string(), headers_noted(scratch.rule, scratch.text));
  std::error_code error;
  fs::rename(scratch.code, code, error);
  if (error) throw core::Error(fmt::format("cannot write {}: {}", code.string(), error.message()));
  write_for_now(note, rows);
  return code;
}

/// Runs the compiler, whose output comes back. Throws core::Error where it does not end.
std::pair<int, std::string> run_compiler(const Compiler& compiler, std::vector<std::string> words,
                                         const std::function<bool()>& go_on) {
  words.insert(words.begin(), compiler.words.begin(), compiler.words.end());
  const ranks::Descriptor output = memory_file("warpscope_compiler");
  Process process(compiler.program.string(), words, output.number());
  const auto last = Clock::now() + kLongestCompile;
  const End end = process.wait([&] { return Clock::now() < last && (!go_on || go_on()); });
  if (end.killed) throw core::Error("the compiler was ended before it was done");
  return {end.signal != 0 ? 1 : end.code, contents_of(output, kMostOutput)};
}

Build build_for_cpu(const Source& source, const CompileOptions& options, const Compiler& compiler,
                    const fs::path& include, bool checked) {
  static std::atomic<int> number = 0;
  const std::string key = key_of(source, options, compiler, include, checked);
  const fs::path note = options.cache / (key + ".made");
  {
    const CacheUse use(options.cache);
    if (auto before = made_before(note)) {
      for (const fs::path& each : {note, *before}) CacheUse::note(each);
      return {std::move(*before), {}, true};
    }
  }
  const Scratch scratch(options.cache, fmt::format("{}.{}-{}", key, ::getpid(), ++number));
  write_for_now(scratch.text, fmt::format("#line 1 \"{}\"\n{}\n", kShownFile, source.text));
  std::vector<std::string> words = options_of(checked);
  // A tab is one column.
  words.insert(words.end(), {"-fdiagnostics-color=never", "-ftabstop=1", "-isystem", include.string(),
                             "-iquote", files::absolute_path(source.file).parent_path().string()});
  for (const fs::path& each : options.includes)
    words.insert(words.end(), {"-I", files::absolute_path(each).string()});
  words.insert(words.end(),
               {"-MMD", "-MF", scratch.rule.string(), scratch.text.string(), "-o", scratch.code.string()});
  const auto [failed, output] = run_compiler(compiler, std::move(words), options.go_on);
  if (failed != 0) return {{}, diagnostics_in(output, source), false};
  std::error_code error;
  if (!fs::is_regular_file(scratch.code, error)) {
    throw core::Error(
        fmt::format("the compiler {} has made no code", files::sayable(compiler.program.string())));
  }
  return {keep(scratch, note), {}, false};
}

Compilation compile_for_cpu(const Source& source, const CompileOptions& options) {
  const Compiler compiler = find_compiler();
  const fs::path include = include_folder(options.cache);
  return make_both([&](bool checked) { return build_for_cpu(source, options, compiler, include, checked); });
}

}  // namespace

fs::path kernel_cache() {
  const fs::path folder = files::cache_dir() / "kernels";
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (error) {
    throw core::Error(
        fmt::format("compiled kernels cannot be kept in {}: {}; XDG_CACHE_HOME names another folder",
                    folder.string(), error.message()));
  }
  return folder;
}

fs::path include_folder(const fs::path& cache) {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const ShippedText& each : shipped_texts()) {
    if (each.name.ends_with(".h")) headers.emplace_back(each.name, each.text);
  }
  for (const Task& task : offered_tasks())
    headers.emplace_back(fmt::format("{}.h", to_string(task)), header_of(task));
  std::string all;
  for (const auto& [name, text] : headers) all.append(name).append("\n").append(text);
  const fs::path folder = cache / ("include-" + sha256_of(all).substr(0, 16));
  std::error_code error;
  const CacheUse use(cache);
  if (fs::exists(folder / "complete", error)) {
    CacheUse::note(folder / "complete");
    return folder;
  }
  fs::create_directories(folder / "warpscope", error);
  for (const auto& [name, text] : headers) files::write_file_atomically(folder / "warpscope" / name, text);
  files::write_file_atomically(folder / "complete", "");
  return folder;
}

Compilation compile(const Source& source, CompileOptions options) {
  if (options.cache.empty()) options.cache = kernel_cache();
  if (std::error_code error; fs::is_directory(kept_headers_of(source.file), error))
    options.includes.push_back(kept_headers_of(source.file));
  Compilation made =
      source.language == Language::cuda ? compile_for_gpu(source, options) : compile_for_cpu(source, options);
  if (!made.cached) prune(options.cache);
  return made;
}

}  // namespace warpscope::user_kernels
