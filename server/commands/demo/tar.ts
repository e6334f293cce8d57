const blockBytes = 512

/** A tar file (POSIX ustar) with one file. */
export function tarOf(path: string, content: Uint8Array): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(blockBytes)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  header.write(path, 0)
  header.write(octal(0o644, 8), 100)
  header.write(octal(0, 8), 108)
  header.write(octal(0, 8), 116)
  header.write(octal(content.length, 12), 124)
  header.write(octal(0, 12), 136)
  header.write('        ', 148) // the checksum counts as spaces
  header.write('0', 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  const padding = Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)
  return Buffer.concat([header, content, padding, Buffer.alloc(2 * blockBytes)])
}
