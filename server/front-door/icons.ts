// The icon of the server in tabs and bookmarks. Browsers that cannot show SVG ask for /favicon.ico.
import { icon } from '@stemma/api/look/logo.ts'
import { prefixOf } from '../pages/url-prefix.ts'

/** In seconds. */
const cacheFor = 24 * 60 * 60

/** api/look/logo.ts in 32 by 32 pixels. */
const png = Buffer.from(
  [
    'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAADkklEQVR4nOxXXUgUURQ+58642j9FbWVCUUZZ0FNhRP+RGf0RbVAP',
    'PUQPZdZjUNGPBUG9RbFLWWAQ/UnQS6Wr/fhUiEr0oEYWRbmihmlq2q4zczp3nFnX1dV12vDFD+7MmXPPvff7zr137oyAUYYK/wHT',
    'jm+dPM7QTyLhEvlMCNXdQlz5eb2oPToWIcFw52ya70LVD4jpkX4iqtMNzGq8Ufx1WAIjUdAPeevVOc0pVYiwbNB6gop6d/FKyAPD',
    'dgkYRMF43ahCEKdYxS5ZEPD0ON2onHUkex4MgbSmlH324ETwWNNwqSzStuSuSG3O2hvZRkQrSMKkJ9HpM9siLlQFFDJ7EZMBUqZt',
    '6jqeb7xZVCOLtMMhIDIjm6jRCrj7sAK7oaLQBVbmsRWIHGgnFOcQKMOMBag2BF4Eg2B4kIhJoFcB9lMg7VmHt55XVfJYCnKY5Dq0',
    '9FjXVQpBsQF0T1g+STr1WNZZo0cR0g4PD1gem0A8/IFWozUI2029BHCmeUf0GGTUChQZMmNIwiPUvqzwTqhqcPsfRfYn+ncOFbZt',
    'KVjM6pdEKuChFauzc4EZ/lRZpG0RSeYuC5nY2wHEid6wf3fkDhhAIOAO3ueg971qwCNI1HLqq835NzsxWuyNGwLlltkZl6AGt8ME',
    'EWa39nTt4en4TTJH7NNIPxhw+9c0+Eq+RxOL2gVlmgHKrpgKCB/a6U8mWmTXpbhwUURcxlR1/EdeCxNkLEf7G32ld6KV21CiHZ0V',
    'db86tn0umNCZriHSRjPpBhUFZvo3T+peEOIuD1hDLZ+0PJ2mZC5cxYTz2D/dzADgXF4LLivmi6bj3s7KT20QAzFfxWmHtkyDFGyx',
    'HkNcdtd7i5/Pyc1+wI32DdaG1cuFKLdwBz9dDSjiElwvCsIQGPIsSMvNvsa34+EBAF71hEJnVVfSTn5Nn+CxRK+fzEourey7HISg',
    '74evrBPiwJAEZhxdPzEZkvNZ1v5IPyt9zZcPgPxOkDvbnCW83OX6c6XtalkbjABxnYapuVmbeVGd4fC1g9UzoWcBn387OICIJ6jB',
    'W1Ja7/WvY50r+bFsAAGgu+AQcRGwUe8tKeeFuIHA2MGye2w/p1EHhxgRARsBb8lTQiwIO0g4/rBxRMAa9SUkAM4JGNh3ymBc53CC',
    'CQjqS/voTEFiMEZgjIBjAppONbbN3w3vwCH+6ddM/sSoOmoN+S++gUMk/N9wpBj1NfAXAAD//x6PqTwAAAAGSURBVAMACI92HYPc',
    'rZUAAAAASUVORK5CYII=',
  ].join(''),
  'base64',
)

/** The links of sign-in pages, also the one to the icon, begin with the path of the auth URL. */
export function iconPaths(authUrl: string) {
  const svg = () => ({ status: 200, type: 'image/svg+xml', body: icon, cacheFor, policy: iconPolicy })
  return {
    '/favicon.svg': svg,
    [`${prefixOf(authUrl)}/favicon.svg`]: svg,
    '/favicon.ico': () => ({ status: 200, type: 'image/x-icon', body: ico, cacheFor }),
  }
}

/** Allows only the `style` element of the SVG. */
const iconPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

const ico = icoOf(png, 32)

/** The format of Windows icons: a list with one entry, and the PNG after it. */
function icoOf(image: Buffer, size: number): Buffer {
  const head = Buffer.alloc(22)
  head.writeUInt16LE(1, 2) // an icon
  head.writeUInt16LE(1, 4) // the number of images
  head.writeUInt8(size, 6)
  head.writeUInt8(size, 7)
  head.writeUInt16LE(1, 10) // colour planes
  head.writeUInt16LE(32, 12) // bits per pixel
  head.writeUInt32LE(image.length, 14)
  head.writeUInt32LE(head.length, 18)
  return Buffer.concat([head, image])
}
