import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Markdown } from '../../ui/markdown.tsx'

/** Loads the Markdown parser when a readme is shown. Until it is loaded, and if that fails, the text is unformatted. */
export function Readme({ text }: { text: string }) {
  const loaded = useSignal<{ Markdown: typeof Markdown } | undefined>(undefined)
  useEffect(() => {
    import('../../ui/markdown.tsx').then(
      (module) => {
        loaded.value = module
      },
      () => undefined,
    )
  }, [loaded])
  const Formatted = loaded.value?.Markdown
  return Formatted ? (
    <Formatted text={text} />
  ) : (
    <p class="readme" dir="auto">
      {text}
    </p>
  )
}
