import type { JsonObject } from '@bufbuild/protobuf'
import { bytesText } from '../output/byte-units.ts'
import type { Format } from '../output/format.ts'
import type { Screen } from '../output/screen.ts'
import { toJson, toYaml } from '../output/serialize.ts'
import { branches } from '../resources/branches.ts'
import { singleLine } from '../single-line.ts'
import type { ImageNode } from './image-tree.ts'

export async function printImageTree(
  tree: ImageNode,
  image: string,
  format: Format,
  screen: Screen,
): Promise<void> {
  if (format === 'json') return screen.write(`${toJson(tree as unknown as JsonObject)}\n`)
  if (format === 'yaml') return screen.write(await toYaml(tree))
  if (format === 'uid') {
    for (const { node } of branches([tree], Number.POSITIVE_INFINITY)) await screen.write(`${node.digest}\n`)
    return
  }
  await screen.write(`${screen.bold(singleLine(image))}  ${describe(tree, format, screen)}\n`)
  for (const { branch, node } of branches(tree.children, Number.POSITIVE_INFINITY))
    await screen.write(`${screen.dim(branch)}${describe(node, format, screen)}\n`)
}

const shortDigestLength = 'sha256:'.length + 12

function describe(node: ImageNode, format: Format, screen: Screen): string {
  const {
    kind,
    platform,
    artifactType,
    predicateType = artifactType,
    digest,
    mediaType,
    size,
    totalSize = size,
  } = node
  const isWide = format === 'wide'
  const type = isWide ? mediaType : undefined
  const parts = [kind, platform, predicateType, bytesText(totalSize)].filter((part) => part !== undefined)
  const shown = isWide ? digest : digest.slice(0, shortDigestLength)
  return [...parts.map(singleLine), screen.dim(singleLine([shown, type].filter(Boolean).join('  ')))].join(
    '  ',
  )
}
