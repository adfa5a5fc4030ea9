#include "gpu/export/tf_record.h"

#include <array>
#include <bit>

namespace warpscope::runs {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;
constexpr std::uint32_t kMaskDelta = 0xA282EAD8;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? kPolynomial : 0u);
    table[byte] = crc;
  }
  return table;
}

/// The lowest `bytes` bytes of `value`, little-endian.
std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFFu);
  return text;
}

std::string masked_crc(std::string_view bytes) {
  return little_endian(std::rotr(crc32c(bytes), 15) + kMaskDelta, 4);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr auto kTable = make_table();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFFu] ^ (crc >> 8);
  return ~crc;
}

std::string tf_record(std::string_view data) {
  const std::string length = little_endian(data.size(), 8);
  std::string record = length + masked_crc(length);
  record += data;
  return record + masked_crc(data);
}

void ProtoMessage::put_varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>((value & 0x7Fu) | 0x80u);
  bytes_ += static_cast<char>(value);
}

void ProtoMessage::put_tag(int field, unsigned wire_type) {
  put_varint(static_cast<std::uint64_t>(field) << 3 | wire_type);
}

ProtoMessage& ProtoMessage::add_varint(int field, std::uint64_t value) {
  put_tag(field, 0);
  put_varint(value);
  return *this;
}

ProtoMessage& ProtoMessage::add_double(int field, double value) {
  put_tag(field, 1);
  bytes_ += little_endian(std::bit_cast<std::uint64_t>(value), 8);
  return *this;
}

ProtoMessage& ProtoMessage::add_float(int field, float value) {
  put_tag(field, 5);
  bytes_ += little_endian(std::bit_cast<std::uint32_t>(value), 4);
  return *this;
}

ProtoMessage& ProtoMessage::add_bytes(int field, std::string_view bytes) {
  put_tag(field, 2);
  put_varint(bytes.size());
  bytes_ += bytes;
  return *this;
}

}  // namespace warpscope::runs
