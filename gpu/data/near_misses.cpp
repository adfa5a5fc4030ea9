#include "gpu/data/near_misses.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "gpu/data/halves.h"
#include "gpu/files/file.h"
#include "gpu/files/file_kind.h"
#include "gpu/files/text.h"

namespace warpscope::data {
namespace {

namespace fs = std::filesystem;

/// Forms of published sets, by a file that they have.
struct Form {
  std::string_view file, companion;  ///< both are there
  std::string_view told;
};
constexpr std::array kForms{
    Form{"data_batch_1", "batches.meta",
         "the Python version of CIFAR-10; bring the binary version: warpscope fetch cifar10"},
    Form{"data_batch_1.mat", "batches.meta.mat",
         "the MATLAB version of CIFAR-10; bring the binary version: warpscope fetch cifar10"},
    Form{"train", "meta",
         "the Python version of CIFAR-100; bring the binary version: warpscope fetch cifar100"},
    Form{"train.mat", "meta.mat",
         "the MATLAB version of CIFAR-100; bring the binary version: warpscope fetch cifar100"},
};

/// Tables of texts, which have no first bytes of their own, by their endings.
struct Ending {
  std::string_view ending, told;
};
constexpr std::array kEndings{Ending{".tsv", "a table with tabs"}, Ending{".jsonl", "a JSON file"},
                              Ending{".json", "a JSON file"},      Ending{".xls", "an Excel table"},
                              Ending{".xlsx", "an Excel table"},   Ending{".parquet", "a Parquet file"}};

bool is_file(const fs::path& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

std::string form_in(const fs::path& folder) {
  for (const Form& form : kForms) {
    if (is_file(folder / form.file) && is_file(folder / form.companion)) {
      return fmt::format("{} holds {}", folder.string(), form.told);
    }
  }
  return "";
}

/// What a file is that no set is made of; "" if nobody knows.
std::string tell_file(const fs::path& path, bool texts) {
  if (std::string told = texts ? told_as_table(path) : ""; !told.empty())
    return told + ", with a class and a text in each row";
  const std::optional<files::InputFile> file = files::InputFile::open(path);
  if (!file) return "";
  const files::FileKind* const kind = files::file_kind(file->read_up_to(0, files::kKindBytes));
  if (kind == nullptr || kind->remedy.empty()) return "";
  return fmt::format("{} is {}, which is not read; {}", path.string(), kind->name, kind->remedy);
}

}  // namespace

std::string near_miss(const fs::path& folder, bool texts) {
  if (is_file(folder)) {
    const std::string told = tell_file(folder, texts);
    return told.empty() ? fmt::format("{} is a file; name the folder that holds it", folder.string()) : told;
  }
  if (std::string told = form_in(folder); !told.empty()) return told;
  std::error_code failure;
  for (const fs::path& entry : shown_in(folder, failure)) {
    std::string told = is_file(entry) ? tell_file(entry, texts) : form_in(entry);
    if (!told.empty()) return told;
  }
  return "";
}

std::string told_as_table(const fs::path& file) {
  const std::string ending = files::lower_case(file.extension().string());
  const auto* const known =
      std::ranges::find_if(kEndings, [&](const Ending& one) { return one.ending == ending; });
  if (known == kEndings.end()) return "";
  return fmt::format("{} is {}, which is not read; save it as CSV in UTF-8", file.string(), known->told);
}

}  // namespace warpscope::data
