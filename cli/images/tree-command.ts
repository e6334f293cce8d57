import type { ComposedCommand } from '../composed/composed-command.ts'

export const imagesTree: ComposedCommand = {
  resource: 'images',
  verb: 'tree',
  args: [{ name: 'IMAGE' }],
  description:
    'Prints the manifests, layers and referrers of an image, such as signatures, SBOMs and attestations.',
  notes:
    'IMAGE is the name of a repo or its uid, followed by a tag or digest. The default tag is latest. The size of a manifest or index is that of everything it consists of. In JSON, totalSize is this size, and size is that of the manifest alone. -o wide prints whole digests and media types, and -o uid only digests.',
  examples: [
    'stemma images tree acme/platform/app',
    'stemma images tree acme/platform/app:v1 --depth 1',
    'stemma images tree acme/platform/app@sha256:… -o json',
  ],
  flags: [
    {
      name: 'depth',
      placeholder: 'NUMBER',
      description: 'Number of levels below the image. Default: all.',
    },
  ],
  load: async () => (await import('./run-images.ts')).runImageTree,
}
