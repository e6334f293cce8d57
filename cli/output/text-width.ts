// Width of texts in columns of a terminal.

/** East Asian characters and emoji, which take two columns. */
const wide = /[ᄀ-ᅟ⺀-꓏가-힣豈-﫿︰-﹏＀-｠￠-￦\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** Created when a text first needs it, because its creation takes 20 ms. */
let segmenter: Intl.Segmenter | undefined

function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmentsOf(text)) width += wide.test(segment) ? 2 : 1
  return width
}

export const pad = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** Shortens a text to a width, with an ellipsis at its end. */
export function truncate(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let short = ''
  for (const { segment } of segmentsOf(text)) {
    if (widthOf(short + segment) > width - 1) break
    short += segment
  }
  return `${short.trimEnd()}…`
}
