// Writes a minimal zip archive. Entries are compressed unless `isDeflated` is false.
import { crc32, deflateRawSync } from 'node:zlib'

export function zipOf(files: Record<string, string>, isDeflated = true): Buffer {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const [path, plain] = [Buffer.from(name), Buffer.from(text)]
    const data = isDeflated ? deflateRawSync(plain) : plain
    // Version, flags, method, time and date (0x21 is 1980-01-01); then checksum, sizes, and the
    // lengths of the name and of the extra field.
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(isDeflated ? 8 : 0, 4)
    fields.writeUInt16LE(0x21, 8)
    fields.writeUInt32LE(crc32(plain), 10)
    fields.writeUInt32LE(data.length, 14)
    fields.writeUInt32LE(plain.length, 18)
    fields.writeUInt16LE(path.length, 22)
    bodies.push(Buffer.from('PK\x03\x04', 'latin1'), fields, path, data)
    // Comment length, disk and attributes, all 0; then the position of the entry.
    const position = Buffer.alloc(14)
    position.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, position, path)
    offset += 30 + path.length + data.length
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  const count = Object.keys(files).length
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(index.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, index, end])
}
