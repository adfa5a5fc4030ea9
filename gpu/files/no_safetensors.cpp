#include "gpu/files/no_safetensors.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include "gpu/files/file_kind.h"
#include "gpu/files/utf8.h"

namespace warpscope::files {
namespace {

using std::string_view_literals::operator""sv;

constexpr const char* kByTorch =
    "was written by torch.save; safetensors.torch.save_file(torch.load(FILE, weights_only=True), NEW_FILE) "
    "makes of its "
    "state_dict a file that can be read";
constexpr const char* kByPickle =
    "was written by Python's pickle; safetensors.torch.save_file or safetensors.numpy.save_file writes what "
    "can be read";

struct Kind {
  std::size_t at = 0;
  std::string_view begins;
  const char* told = nullptr;
};

/// Kinds of weights. Longer beginnings stand before shorter ones of the same bytes.
constexpr Kind kKinds[] = {
    {0, "# xet version"sv, "is a Xet pointer, not the file that it stands for; git xet brings that"},
    {0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, kByTorch},
    {0, "\x80\x02"sv, kByPickle},
    {0, "\x80\x03"sv, kByPickle},
    {0, "\x80\x04"sv, kByPickle},
    {0, "\x80\x05"sv, kByPickle},
    {0, "\x89HDF\r\n\x1a\n"sv,
     "is an HDF5 file, as Keras writes them; save its arrays under PyTorch's names with "
     "safetensors.numpy.save_file"},
    {0, "GGUF"sv,
     "is a GGUF file, whose numbers are quantized; the safetensors file that it was made from is needed"},
    {0, "\x93NUMPY"sv, "is one array of NumPy; safetensors.numpy.save_file writes arrays under names"},
    {4, "TFL3"sv, "is a TensorFlow Lite model; save its arrays with safetensors.numpy.save_file"},
};

bool holds(std::string_view bytes, std::string_view part) {
  return bytes.find(part) != std::string_view::npos;
}

/// A zip archive of weights, by the first name in it; "" of another.
std::string zip_kind(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, 160);
  if (holds(begin, "data.pkl") || holds(begin, ".format_version") || holds(begin, "/byteorder"))
    return kByTorch;
  if (holds(begin, ".npy")) {
    return "holds arrays of NumPy (.npz); safetensors.numpy.save_file(dict(numpy.load(FILE)), NEW_FILE) "
           "makes a file of "
           "them that can be read";
  }
  if (holds(begin, "metadata.json") || holds(begin, "config.json")) {
    return "is a zip archive, as Keras writes its models; save its arrays under PyTorch's names with "
           "safetensors.numpy.save_file";
  }
  return "";
}

/// A protocol buffer that begins with ONNX's version, a small number, behind which its maker's name or another of its
/// first fields follows. Source: onnx.proto, message ModelProto.
bool is_onnx(std::string_view bytes) {
  constexpr std::string_view kNextFields = "\x12\x1a\x22\x32\x3a\x42";
  return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x20 &&
         kNextFields.find(bytes[2]) != std::string_view::npos;
}

/// UTF-8 without control characters; the last character may be cut.
bool is_text(std::string_view bytes) {
  const std::vector<char32_t> points = decode_utf8(bytes);
  const auto fits = [](char32_t c) { return c >= 0x20 ? c != 0x7f : c == '\t' || c == '\n' || c == '\r'; };
  return std::all_of(points.begin(), points.end(), fits) &&
         std::count(points.begin(), points.end(), kBroken) <= 1;
}

std::string text_kind(std::string_view text) {
  if (text.starts_with('<')) return "is a web page or XML; download the file itself";
  if (text.starts_with('{') && holds(text, "weight_map")) {
    return "lists the files that hold the weights; only weights in a single file can be read";
  }
  return text.starts_with('{') || text.starts_with('[') ? "is JSON" : "is a text";
}

}  // namespace

std::string told_instead_of_safetensors(std::string_view bytes) {
  if (bytes.empty()) return "is empty; copy or download it again";
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
    return bytes.size() >= kind.at && bytes.substr(kind.at).starts_with(kind.begins);
  });
  if (found != std::end(kKinds)) return found->told;
  if (bytes.starts_with("PK\x03\x04")) {
    if (std::string zip = zip_kind(bytes); !zip.empty()) return zip;
  }
  const std::string_view text =
      bytes.substr(std::min(bytes.find_first_not_of("\xef\xbb\xbf \t\r\n"), bytes.size()));
  for (const std::string_view begin : {bytes, text}) {
    const FileKind* const kind = file_kind(begin);
    if (kind == nullptr) continue;
    const bool helps = !kind->remedy.empty() && !holds(kind->remedy, "PNG");  // which is of no use to weights
    return fmt::format("is {}{}{}", kind->name, helps ? "; " : "", helps ? kind->remedy : "");
  }
  if (is_onnx(bytes)) {
    return "seems to be an ONNX model; save its initializers under PyTorch's names with "
           "safetensors.numpy.save_file";
  }
  if (is_text(bytes)) return text_kind(text);
  if (bytes.find_first_not_of('\0') == std::string_view::npos) {
    return "begins with zeros, as files do that were not copied to their end; copy or download it again";
  }
  return "";
}

}  // namespace warpscope::files
