#include "memory/block_store.h"

#include <utility>

namespace devsan::memory {

Block* BlockStore::take() {
  if (free_ == nullptr) {
    auto chunk = std::make_unique<Block[]>(kChunkSize);
    for (std::size_t index = kChunkSize; index > 0; --index) {
      chunk[index - 1].next = free_;
      free_ = &chunk[index - 1];
    }
    chunks_.push_back(std::move(chunk));
  }
  Block* block = free_;
  free_ = block->next;
  block->next = nullptr;
  block->live = true;
  return block;
}

void BlockStore::give_back(Block* block) noexcept {
  // The vector keeps its room for the next use of this node.
  std::vector<StreamId> stream_uses = std::move(block->stream_uses);
  stream_uses.clear();
  *block = Block{};
  block->stream_uses = std::move(stream_uses);
  block->next = free_;
  free_ = block;
}

}  // namespace devsan::memory
