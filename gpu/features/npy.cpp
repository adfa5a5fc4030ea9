#include "gpu/features/npy.h"

#include <regex>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/byte_numbers.h"
#include "gpu/files/file.h"

namespace warpscope::features {
namespace {

constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kHeadBytes = 10;  ///< magic, version, length of the header
constexpr std::size_t kAlignment = 64;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw core::BadInput(fmt::format("{}: {}", path.string(), why));
}

/// The numbers in "(3, 4)", "(3,)".
std::vector<std::int64_t> parse_shape(const std::string& text, const std::filesystem::path& path) {
  std::vector<std::int64_t> shape;
  const std::regex number("[0-9]{1,12}");
  for (std::sregex_iterator found(text.begin(), text.end(), number), end; found != end; ++found) {
    shape.push_back(std::stoll(found->str()));
  }
  if (shape.empty()) refuse(path, "its header names no shape");
  return shape;
}

}  // namespace

void write_npy(const std::filesystem::path& path, std::string_view type,
               const std::vector<std::int64_t>& shape, const void* data, std::size_t bytes) {
  const std::string comma = shape.size() == 1 ? "," : "";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                   fmt::join(shape, ", "), comma);
  const std::size_t used = kHeadBytes + header.size() + 1;
  header.append((kAlignment - used % kAlignment) % kAlignment, ' ').append("\n");
  files::AtomicFile file(path);
  file.write(kMagic);
  const auto length = static_cast<std::uint16_t>(header.size());
  const unsigned char digits[2] = {static_cast<unsigned char>(length & 0xff),
                                   static_cast<unsigned char>(length >> 8)};
  file.write(digits, sizeof digits);
  file.write(header);
  file.write(data, bytes);
  file.commit();
}

NpyArray read_npy(const std::filesystem::path& path, std::string_view type) {
  const files::InputFile file(path);
  const std::string head = file.read_up_to(0, kHeadBytes);
  if (head.size() != kHeadBytes || head.substr(0, kMagic.size()) != kMagic) {
    refuse(path, "this is no .npy file of format 1.0");
  }
  const std::size_t length = files::number_at(head, 8, 2, false);
  const std::string header = file.read_up_to(kHeadBytes, length);
  std::smatch found;
  const std::regex pattern("'descr': *'([^']*)'.*'fortran_order': *False.*'shape': *\\(([^)]*)\\)");
  if (header.size() != length || !std::regex_search(header, found, pattern)) {
    refuse(path, "its header is not that of an array in C order");
  }
  if (found[1].str() != type) {
    refuse(path, fmt::format("it holds numbers of type {}, not {}", found[1].str(), type));
  }
  NpyArray array;
  array.shape = parse_shape(found[2].str(), path);
  std::int64_t bytes = 4;
  for (const std::int64_t extent : array.shape) {
    if (extent > 0 && bytes > file.size() / extent + 1) refuse(path, "it is shorter than its header says");
    bytes *= extent;
  }
  const auto begin = static_cast<std::int64_t>(kHeadBytes + length);
  if (file.size() - begin != bytes) {
    refuse(path, fmt::format("its header tells of {} bytes of numbers, but there are {}", bytes,
                             file.size() - begin));
  }
  array.bytes.resize(static_cast<std::size_t>(bytes));
  file.read(begin, array.bytes);
  return array;
}

}  // namespace warpscope::features
