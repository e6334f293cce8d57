// Reads the files of a tar archive (POSIX.1-1988, "ustar"). Extended headers are ignored, so the
// path of an entry is always the one in its ustar header, which may be a shortened one.

const blockBytes = 512
const [fileType, oldFileType] = ['0'.charCodeAt(0), 0]

/** Throws if the archive is damaged. */
export function* tarFiles(archive: Buffer): Generator<{ path: string; content: Buffer }> {
  let at = 0
  while (at + blockBytes <= archive.length) {
    const header = archive.subarray(at, at + blockBytes)
    if (header[0] === 0) return // blocks of zeros end the archive
    const size = Number.parseInt(textAt(header, 124, 12), 8)
    const start = at + blockBytes
    if (!(size >= 0) || start + size > archive.length) throw new Error('the archive is damaged')
    const prefix = textAt(header, 345, 155)
    const path = `${prefix === '' ? '' : `${prefix}/`}${textAt(header, 0, 100)}`
    if (header[156] === fileType || header[156] === oldFileType)
      yield { path, content: archive.subarray(start, start + size) }
    at = start + Math.ceil(size / blockBytes) * blockBytes
  }
}

/** The text in a field, which ends with a zero unless it fills the field. */
function textAt(header: Buffer, start: number, length: number): string {
  const [text = ''] = header.toString('latin1', start, start + length).split('\0', 1)
  return text
}
