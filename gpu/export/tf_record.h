#pragma once
// TensorBoard's event files from below: the TFRecord framing, and as much of the protocol buffers' wire
// format as an event takes. Sources: https://www.tensorflow.org/tutorials/load_data/tfrecord ("TFRecords
// format details"), https://protobuf.dev/programming-guides/encoding/.

#include <cstdint>
#include <string>
#include <string_view>

namespace warpscope::runs {

/// CRC-32C (Castagnoli; reflected polynomial 0x82F63B78, initial value and final XOR 0xFFFFFFFF) as in RFC
/// 3720, section 12.1; "123456789" gives 0xE3069283.
std::uint32_t crc32c(std::string_view bytes);

/// `data` as a record: its length (8 bytes, little-endian), masked CRC of those 8 bytes, data, masked CRC of
/// the data. masked(c) = ((c >> 15) | (c << 17)) + 0xA282EAD8 modulo 2^32.
std::string tf_record(std::string_view data);

/// A message being written; fields in the order of the calls.
class ProtoMessage {
 public:
  ProtoMessage& add_varint(int field, std::uint64_t value);
  ProtoMessage& add_double(int field, double value);
  ProtoMessage& add_float(int field, float value);
  /// Text, bytes, or a message within this one.
  ProtoMessage& add_bytes(int field, std::string_view bytes);
  const std::string& bytes() const { return bytes_; }

 private:
  void put_tag(int field, unsigned wire_type);
  void put_varint(std::uint64_t value);
  std::string bytes_;
};

}  // namespace warpscope::runs
