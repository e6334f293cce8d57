import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Markdown } from '../../ui/markdown.tsx'

/** The parser of Markdown is loaded when there is some. Until then, and if it cannot be loaded, the text as it is. */
export function Readme({ text }: { text: string }) {
  const drawer = useSignal<{ draw: typeof Markdown } | undefined>(undefined)
  useEffect(() => {
    import('../../ui/markdown.tsx').then(
      ({ Markdown: draw }) => {
        drawer.value = { draw }
      },
      () => undefined,
    )
  }, [drawer])
  const Drawn = drawer.value?.draw
  return Drawn ? (
    <Drawn text={text} />
  ) : (
    <p class="readme" dir="auto">
      {text}
    </p>
  )
}
