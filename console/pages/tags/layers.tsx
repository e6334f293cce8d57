import type { Descriptor } from '../../api/registry.ts'
import { Digest } from '../../ui/copy.tsx'
import { SizeBar, StackedSizes } from '../../ui/size-bar.tsx'
import { sizeText } from '../repos/size.ts'
import type { BuildStep } from './image.ts'
import { stepsOf } from './image.ts'

const sizeOf = ({ size }: Descriptor) => (typeof size === 'number' && size > 0 ? size : 0)

type LayersProps = { layers: readonly Descriptor[]; history: readonly BuildStep[] }

/** The layers of an image with their sizes, and the steps of the build that made them. */
export function Layers({ layers, history }: LayersProps) {
  const sizes = layers.map(sizeOf)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const max = Math.max(...sizes, 0)
  return (
    <>
      <StackedSizes
        sizes={sizes}
        label={`${layers.length} ${layers.length === 1 ? 'layer' : 'layers'}, ${sizeText(total)}`}
      />
      <ol class="layers">
        {stepsOf(layers, history).map(({ command, layer }, at) => (
          <li key={at} class={layer ? '' : 'quiet'}>
            <code class="layer-command" title={command}>
              {command || layer?.mediaType || 'Layer'}
            </code>
            {layer ? (
              <>
                <SizeBar size={sizeOf(layer)} max={max} />
                <span class="number">{sizeText(sizeOf(layer))}</span>
                <Digest digest={layer.digest} />
              </>
            ) : (
              <span class="no-layer">no layer</span>
            )}
          </li>
        ))}
      </ol>
    </>
  )
}
