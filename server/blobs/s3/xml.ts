// Reads the responses of S3: flat elements without attributes that matter, so no parser is needed.
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** The text of the first element with the name, or undefined. */
export function elementText(xml: string, name: string): string | undefined {
  const start = new RegExp(`<${name}(?:\\s[^>]*)?>`).exec(xml)
  if (!start) return undefined
  const from = start.index + start[0].length
  const end = xml.indexOf(`</${name}>`, from)
  return end < 0 ? undefined : decode(xml.slice(from, end))
}

/** The XML inside each element with the name. */
export function* elements(xml: string, name: string): Generator<string> {
  const open = `<${name}>`
  const close = `</${name}>`
  for (let at = xml.indexOf(open); at >= 0; ) {
    const end = xml.indexOf(close, at)
    if (end < 0) return
    yield xml.slice(at + open.length, end)
    at = xml.indexOf(open, end)
  }
}

const decode = (text: string): string =>
  text.replace(/&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|(\w+));/g, (whole, hex, decimal, name) => {
    if (name !== undefined) return entities[name] ?? whole
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })

export const encodeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
