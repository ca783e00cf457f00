#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/event.h"
#include "model/message.h"

namespace devsan::diagnose {

/// What a call in a statement's text gives for `keyword`, as written. None: it gives nothing by that name.
std::optional<std::string> keyword_argument(std::string_view statement, std::string_view keyword);

/// The device that a statement's text gives to a factory or a move, as written: "hparams.device" for
/// `torch.zeros(3, device=hparams.device)`, "1" for `x.to(1)`, "\"cuda\"" for `x.cuda()`. None: it gives none.
std::optional<std::string> device_argument(std::string_view statement);

/// How that text says the device.
model::DeviceSource source_of_text(std::string_view device_text);

/// How the event's device was said: what introspection found, or else what the text of its statement shows.
model::DeviceSource source_of(const model::Event& event);

/// The text that said the event's device, "" when there is none.
std::string device_text_of(const model::Event& event);

/// "`device` is `next(model.parameters()).device`, at train.py:76.": what a name that said the device was given; "" where
/// the source does not say it, or nobody had to look.
model::Message device_value_of(const model::Event& event);

/// How often `word` occurs in `text` as a whole name.
int count_word(std::string_view text, std::string_view word);

/// `text` with its only occurrence of `word` replaced; none where it occurs never or several times.
std::optional<std::string> replace_word(std::string_view text, std::string_view word, std::string_view replacement);

/// `statement` with `device=<device>` added to its call of the factory `op` ("aten::zeros"), or put in place of the
/// device that it gives; none where the text does not show one whole such call.
std::optional<std::string> with_device(std::string_view statement, std::string_view op, std::string_view device);

/// `statement` with another value of the keyword `name` of its only call that gives one; none where it shows no such value.
std::optional<std::string> with_keyword(std::string_view statement, std::string_view name, std::string_view value);

}  // namespace devsan::diagnose
