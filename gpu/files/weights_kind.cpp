#include "gpu/files/weights_kind.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <vector>

#include "gpu/files/utf8.h"

namespace warpscope::files {
namespace {

using std::string_view_literals::operator""sv;

constexpr const char* kByTorch =
    "was written by torch.save; safetensors.torch.save_file(torch.load(FILE, weights_only=True), NEW_FILE) "
    "makes "
    "of its state_dict a file that can be read";

struct Kind {
  std::string_view begins;
  std::size_t at = 0;
  const char* told = nullptr;
};

/// Longer beginnings before shorter ones of the same bytes.
constexpr Kind kKinds[] = {
    {"version https://git-lfs.github.com/spec/"sv, 0,
     "is a Git LFS pointer, not the file that it stands for; git lfs pull brings that"},
    {"# xet version"sv, 0, "is a Xet pointer, not the file that it stands for; git xet brings that"},
    {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv, 0, kByTorch},
    {"\x89HDF\r\n\x1a\n"sv, 0,
     "is an HDF5 file, as Keras writes them; save its arrays under PyTorch's names with "
     "safetensors.numpy.save_file"},
    {"GGUF"sv, 0,
     "is a GGUF file, whose numbers are quantized; the safetensors file it was made from is needed"},
    {"\x93NUMPY"sv, 0, "is one array of NumPy; safetensors.numpy.save_file writes arrays under names"},
    {"TFL3"sv, 4, "is a TensorFlow Lite model; save its arrays with safetensors.numpy.save_file"},
    {"ustar"sv, 257, "is a tar archive; unpack it first"},
    {"\x1f\x8b"sv, 0, "is packed by gzip; unpack it with gunzip"},
    {"\x28\xb5\x2f\xfd"sv, 0, "is packed by Zstandard; unpack it with unzstd"},
    {"\xfd"
     "7zXZ\0"sv,
     0, "is packed by xz; unpack it with unxz"},
    {"BZh"sv, 0, "is packed by bzip2; unpack it with bunzip2"},
    {"7z\xbc\xaf\x27\x1c"sv, 0, "is a 7z archive; unpack it first"},
    {"Rar!\x1a\x07"sv, 0, "is a RAR archive; unpack it first"},
    {"%PDF-"sv, 0, "is a PDF document"},
    {"\x89PNG\r\n"sv, 0, "is a PNG picture"},
    {"\xff\xd8\xff"sv, 0, "is a JPEG picture"},
    {"\x7f"
     "ELF"sv,
     0, "is a program"},
};

bool holds(std::string_view bytes, std::string_view part) {
  return bytes.find(part) != std::string_view::npos;
}

/// A zip archive by the first name in it.
const char* zip_kind(std::string_view bytes) {
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
  return "is a zip archive; unpack it first";
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

const char* text_kind(std::string_view bytes) {
  std::string small(bytes.substr(std::min(bytes.find_first_not_of("\xef\xbb\xbf \t\r\n"), bytes.size())));
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  if (small.starts_with("<!doctype html") || small.starts_with("<html") || small.starts_with("<head")) {
    return "is a web page, as servers send one where the file itself is at another address or asks for a "
           "login; download "
           "it again";
  }
  if (small.starts_with("<")) return "is XML or a web page; download the file itself";
  if (small.starts_with("{") && holds(small, "weight_map")) {
    return "lists the files that hold the weights; only weights in a single file can be read";
  }
  if (small.starts_with("{") || small.starts_with("[")) return "is JSON";
  return "is a text";
}

}  // namespace

std::string weights_kind(std::string_view bytes) {
  if (bytes.empty()) return "is empty; copy or download it again";
  const auto* const found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
    return bytes.size() >= kind.at && bytes.substr(kind.at).starts_with(kind.begins);
  });
  if (found != std::end(kKinds)) return found->told;
  if (bytes.starts_with("PK\x03\x04")) return zip_kind(bytes);
  if (bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5) {
    return "was written by Python's pickle; safetensors.torch.save_file or safetensors.numpy.save_file "
           "writes what can "
           "be read";
  }
  if (is_onnx(bytes)) {
    return "seems to be an ONNX model; save its initializers under PyTorch's names with "
           "safetensors.numpy.save_file";
  }
  if (is_text(bytes)) return text_kind(bytes);
  if (bytes.find_first_not_of('\0') == std::string_view::npos) {
    return "begins with zeros, as files do that were not copied to their end; copy or download it again";
  }
  return "";
}

}  // namespace warpscope::files
