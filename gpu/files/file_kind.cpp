#include "gpu/files/file_kind.h"

#include <algorithm>
#include <array>

#include "gpu/files/text.h"

namespace warpscope::files {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t at;
  std::string_view bytes;
  FileKind kind;
};

constexpr std::string_view kAsPicture = "save it as PNG or JPEG";
constexpr std::string_view kUnpack = "unpack it";
constexpr std::string_view kAsTable = "save it as CSV in UTF-8";
constexpr FileKind kSvg{"an SVG picture", kAsPicture};
constexpr std::string_view kAsFolders = "write its images as PNG files, in a folder for each class";

// Where one signature begins as another does the longer one comes first.
constexpr std::array kSignatures{
    Signature{0, "\x89PNG\r\n\x1a\n"sv, {"a PNG picture", ""}},
    Signature{0, "\xFF\xD8\xFF"sv, {"a JPEG picture", ""}},
    Signature{8, "WEBP"sv, {"a WebP picture", ""}},
    Signature{0, "GIF8"sv, {"a GIF picture", kAsPicture}},
    Signature{0, "II*\0"sv, {"a TIFF picture", kAsPicture}},
    Signature{0, "MM\0*"sv, {"a TIFF picture", kAsPicture}},
    Signature{0, "II+\0"sv, {"a TIFF picture", kAsPicture}},
    Signature{0, "MM\0+"sv, {"a TIFF picture", kAsPicture}},
    Signature{4, "ftypavi"sv, {"an AVIF picture", kAsPicture}},
    Signature{4, "ftyphe"sv, {"a HEIC picture", kAsPicture}},
    Signature{4, "ftypmif1"sv, {"a HEIC picture", kAsPicture}},
    Signature{4, "ftypmsf1"sv, {"a HEIC picture", kAsPicture}},
    Signature{4, "ftyp"sv, {"a film", "save its frames as PNG or JPEG"}},
    Signature{0, "\xFF\x0A"sv, {"a JPEG XL picture", kAsPicture}},
    Signature{4, "JXL \r\n"sv, {"a JPEG XL picture", kAsPicture}},
    Signature{4, "jP  \r\n"sv, {"a JPEG 2000 picture", kAsPicture}},
    Signature{0, "8BPS"sv, {"a Photoshop picture", kAsPicture}},
    Signature{0, "<svg"sv, kSvg},
    Signature{0, "%PDF-"sv, {"a PDF document", kAsPicture}},
    Signature{0,
              "version https://git-lfs"sv,
              {"a Git LFS pointer in place of the file", "bring the file itself by git lfs pull"}},
    Signature{0, "<!doctype html"sv, {"a web page", "download the file itself"}},
    Signature{0, "<html"sv, {"a web page", "download the file itself"}},
    Signature{0, "<?xml"sv, {"an XML document", "download the file itself"}},
    Signature{30, "[Content_Types].xml"sv, {"an Office file", kAsTable}},
    Signature{30, "docProps/"sv, {"an Office file", kAsTable}},
    Signature{30, "_rels/.rels"sv, {"an Office file", kAsTable}},
    Signature{0, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, {"an Office file", kAsTable}},
    Signature{0, "PK\x03\x04"sv, {"a zip archive", kUnpack}},
    Signature{0, "PK\x05\x06"sv, {"an empty zip archive", kUnpack}},
    Signature{0, "\x1f\x8b"sv, {"packed by gzip", kUnpack}},
    Signature{0, "BZh"sv, {"packed by bzip2", kUnpack}},
    Signature{0,
              "\xFD"
              "7zXZ\0"sv,
              {"packed by xz", kUnpack}},
    Signature{0, "\x28\xB5\x2F\xFD"sv, {"packed by zstd", kUnpack}},
    Signature{0, "7z\xBC\xAF\x27\x1C"sv, {"a 7z archive", kUnpack}},
    Signature{0, "Rar!\x1A\x07"sv, {"a RAR archive", kUnpack}},
    Signature{257, "ustar"sv, {"a tar archive", kUnpack}},
    Signature{0, "\x93NUMPY"sv, {"a NumPy array", kAsFolders}},
    Signature{0, "MATLAB 5.0"sv, {"a MATLAB file", kAsFolders}},
    Signature{0, "\x89HDF\r\n\x1a\n"sv, {"an HDF5 file", kAsFolders}},
    Signature{0, "PAR1"sv, {"a Parquet file", kAsFolders}},
    Signature{0, "ARROW1"sv, {"an Arrow file", kAsFolders}},
    Signature{0, "SQLite format 3\0"sv, {"an SQLite database", kAsFolders}},
    Signature{0, "\x80\x02"sv, {"a Python pickle", kAsFolders}},
    Signature{0, "\x80\x03"sv, {"a Python pickle", kAsFolders}},
    Signature{0, "\x80\x04"sv, {"a Python pickle", kAsFolders}},
    Signature{0, "\x80\x05"sv, {"a Python pickle", kAsFolders}},
};

/// Letters of ASCII are compared without regard to their case: web pages begin in both.
bool matches(std::string_view bytes, const Signature& signature) {
  if (bytes.size() < signature.at) return false;
  const std::string_view there = bytes.substr(signature.at, signature.bytes.size());
  return there == signature.bytes || (signature.bytes[0] == '<' && lower_case(there) == signature.bytes);
}

/// The name of the first file in a zip archive. Source: APPNOTE.TXT of PKWARE, 4.3.7.
std::string_view first_name_in_zip(std::string_view bytes) {
  constexpr std::size_t kLength = 26, kHeader = 30;
  if (bytes.size() < kHeader) return {};
  const auto low = static_cast<unsigned char>(bytes[kLength]),
             high = static_cast<unsigned char>(bytes[kLength + 1]);
  return bytes.substr(kHeader, low + 256U * high);
}

}  // namespace

const FileKind* file_kind(std::string_view bytes) {
  static constexpr FileKind kArrays{"a file of NumPy arrays", kAsFolders};
  if (bytes.starts_with("PK\x03\x04") && first_name_in_zip(bytes).ends_with(".npy")) return &kArrays;
  // An answer of a server that refuses a download is XML too, but for this.
  if (bytes.starts_with("<?xml") && lower_case(bytes).find("<svg") != std::string::npos) return &kSvg;
  const auto* const found =
      std::ranges::find_if(kSignatures, [&](const Signature& one) { return matches(bytes, one); });
  return found == kSignatures.end() ? nullptr : &found->kind;
}

}  // namespace warpscope::files
