#include <memory>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "gpu/core/device.h"

namespace warpscope::core::buffer_test {
namespace {

/// What holds for memory of the device and of the host alike.
template <class Memory>
class BufferTest : public testing::Test {
 protected:
  std::shared_ptr<Device> device_ = open_device("cpu");
  std::size_t in_use() const { return device_->memory().allocated_bytes; }
};
using Memories = testing::Types<Buffer, HostBuffer>;
TYPED_TEST_SUITE(BufferTest, Memories);

TYPED_TEST(BufferTest, IsFreedWithTheObject) {
  {
    const TypeParam buffer(this->device_, 100);
    EXPECT_NE(buffer.data(), nullptr);
    EXPECT_EQ(buffer.bytes(), 100u);
    EXPECT_EQ(this->in_use(), 100u);
  }
  EXPECT_EQ(this->in_use(), 0u);
}

TYPED_TEST(BufferTest, AnEmptyOneHoldsNothing) {
  const TypeParam without_device;
  const TypeParam of_no_bytes(this->device_, 0);
  EXPECT_EQ(without_device.data(), nullptr);
  EXPECT_EQ(of_no_bytes.data(), nullptr);
  EXPECT_EQ(of_no_bytes.bytes(), 0u);
  EXPECT_EQ(this->in_use(), 0u);
}

TYPED_TEST(BufferTest, MovingTakesTheMemoryAlong) {
  TypeParam first(this->device_, 64);
  void* const memory = first.data();
  const TypeParam second(std::move(first));
  EXPECT_EQ(second.data(), memory);
  EXPECT_EQ(second.bytes(), 64u);
  EXPECT_EQ(this->in_use(), 64u);
}

TYPED_TEST(BufferTest, AMovedFromOneIsEmpty) {
  TypeParam first(this->device_, 64);
  const TypeParam second(std::move(first));
  // Buffers promise this state, unlike the standard library's types.
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.bytes(), 0u);
}

TYPED_TEST(BufferTest, AssigningFreesWhatWasThere) {
  TypeParam kept(this->device_, 64);
  void* const memory = kept.data();
  TypeParam target(this->device_, 1000);
  target = std::move(kept);
  EXPECT_EQ(target.data(), memory);
  EXPECT_EQ(this->in_use(), 64u);
  target = TypeParam();
  EXPECT_EQ(this->in_use(), 0u);
}

TYPED_TEST(BufferTest, AssigningToItselfKeepsTheMemory) {
  TypeParam buffer(this->device_, 64);
  TypeParam& alias = buffer;
  buffer = std::move(alias);
  EXPECT_NE(buffer.data(), nullptr);
  EXPECT_EQ(this->in_use(), 64u);
}

TYPED_TEST(BufferTest, OutlivesTheCallersHandleOfTheDevice) {
  std::weak_ptr<Device> device = this->device_;
  {
    TypeParam buffer(this->device_, 64);
    this->device_.reset();
    EXPECT_FALSE(device.expired());
    *buffer.template as<int>() = 42;
    EXPECT_EQ(*buffer.template as<int>(), 42);
  }
  EXPECT_TRUE(device.expired());
}

TYPED_TEST(BufferTest, IsMovedAndNeverCopied) {
  static_assert(!std::is_copy_constructible_v<TypeParam>);
  static_assert(!std::is_copy_assignable_v<TypeParam>);
  static_assert(std::is_nothrow_move_constructible_v<TypeParam>);
  static_assert(std::is_nothrow_move_assignable_v<TypeParam>);
}

}  // namespace
}  // namespace warpscope::core::buffer_test
