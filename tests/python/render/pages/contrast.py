"""Contrast of the texts of a page, as WCAG 2.2 measures it: 4.5 to 1, and 3 to 1 for large text.

https://www.w3.org/TR/WCAG22/#contrast-minimum; large is from 24 px on, or from 18.66 px on if bold.
"""

from __future__ import annotations

from pages.chromium import Chromium

_PALE = r"""(() => {
  const parsed = (text) => {
    const numbers = text.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
    const most = text.startsWith("color(") ? 1 : 255;
    return { parts: numbers.slice(0, 3).map((each) => each / most), alpha: numbers.length > 3 ? numbers[3] : 1 };
  };
  const over = (top, below) => below.map((each, at) => top.parts[at] * top.alpha + each * (1 - top.alpha));
  const luminance = (parts) => {
    const [r, g, b] = parts.map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const below = element.parentElement ? behind(element.parentElement) : [1, 1, 1];
    return over(parsed(getComputedStyle(element).backgroundColor), below);
  };
  const opacity = (element) =>
    Number(getComputedStyle(element).opacity) * (element.parentElement ? opacity(element.parentElement) : 1);
  const pale = [];
  const measure = (element, style, text) => {
    const ground = behind(element);
    const ink = parsed(style.color);
    ink.alpha *= opacity(element);
    const [light, dark] = [luminance(over(ink, ground)), luminance(ground)].sort((one, other) => other - one);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < (large ? 3 : 4.5)) pale.push(`${ratio.toFixed(2)} ${element.tagName}.${element.className}: ${text}`);
  };
  let measured = 0;
  for (const element of document.body.querySelectorAll("*:not(script)")) {
    if (!element.checkVisibility() || element.closest("svg")) continue;
    if (element.placeholder) measure(element, getComputedStyle(element, "::placeholder"), element.placeholder);
    const texts = [...element.childNodes].filter((each) => each.nodeType === Node.TEXT_NODE);
    const text = texts.map((each) => each.textContent.trim()).join("");
    if (!text) continue;
    measure(element, getComputedStyle(element), text.slice(0, 40));
    measured += 1;
  }
  return { pale, measured };
})()"""


def pale_texts(browser: Chromium) -> list[str]:
    """Returns the texts on the page that have less contrast than they need, each with what it has."""
    found = browser.evaluate(_PALE)
    assert found["measured"] > 20
    pale: list[str] = found["pale"]
    return pale
