// Shows Markdown that anyone may have written. It becomes elements; HTML in it is shown as text, without its comments.
// Links lead only to https and mailto. Images become links, because the page loads nothing from other origins.
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { MarkdownNode, MarkdownTree } from './markdown-nodes.ts'
import { safeUrl } from './safe-url.ts'

/**
 * The parser takes quadratic time for some texts, up to minutes for 64 KB of asterisks, so it runs in a worker that is
 * stopped after this time, in milliseconds. Most texts take less than 50 ms.
 */
const timeLimitMs = 5000

/** Until the text is parsed, and if that fails or takes too long, it is shown unformatted. */
export function Markdown({ text }: { text: string }) {
  const parsed = useSignal<(MarkdownTree & { text: string }) | undefined>(undefined)
  useEffect(
    () =>
      parseInWorker(text, (tree) => {
        parsed.value = { ...tree, text }
      }),
    [text, parsed],
  )
  const tree = parsed.value?.text === text ? parsed.value : undefined
  if (!tree)
    return (
      <p class="readme" dir="auto">
        {text}
      </p>
    )
  return (
    <div class="markdown">
      {tree.nodes.map(draw)}
      {tree.isShortened && <p class="quiet">The text is shortened.</p>}
    </div>
  )
}

/** Calls `done` if the text could be parsed in time. The returned function stops the worker. */
function parseInWorker(text: string, done: (tree: MarkdownTree) => void): () => void {
  let stop = () => {}
  let isStopped = false
  const start = async () => {
    const { workerUrl } = await import('./markdown-worker.ts')
    if (isStopped) return
    const worker = startWorker(workerUrl)
    const timer = setTimeout(() => stop(), timeLimitMs)
    stop = () => {
      clearTimeout(timer)
      worker.terminate()
    }
    worker.onmessage = ({ data }: MessageEvent<MarkdownTree>) => {
      stop()
      done(data)
    }
    worker.onerror = (event) => {
      event.preventDefault()
      stop()
    }
    worker.postMessage(text)
  }
  start().catch(() => undefined)
  return () => {
    isStopped = true
    stop()
  }
}

/** Not all browsers have Trusted Types, nor do the type definitions. */
declare const window: {
  trustedTypes?: {
    createPolicy(
      name: string,
      rules: { createScriptURL(url: string): string },
    ): { createScriptURL(url: string): string }
  }
}

/** The policy of the page refuses strings as URLs of scripts. */
const policy = window.trustedTypes?.createPolicy('markdown-worker', { createScriptURL: (url) => url })

const startWorker = (url: string) => new Worker(policy?.createScriptURL(url) ?? url, { type: 'module' })

function draw(node: MarkdownNode, key: number): ComponentChildren {
  if (typeof node === 'string') return node
  const { tag: Tag, start, href } = node
  const content = node.content.map(draw)
  switch (Tag) {
    case 'a':
      return externalLink(href ?? '', content, key)
    case 'pre':
      return (
        <pre key={key} tabIndex={0} aria-label="Code">
          <code>{content}</code>
        </pre>
      )
    case 'ol':
      return (
        <ol key={key} start={start}>
          {content}
        </ol>
      )
    case 'table':
      return (
        <div key={key} class="table-scroll" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead>{content.slice(0, 1)}</thead>
            <tbody>{content.slice(1)}</tbody>
          </table>
        </div>
      )
    case 'hr':
    case 'br':
      return <Tag key={key} />
    case 'strong':
    case 'em':
    case 'del':
    case 'code':
    case 'tr':
    case 'ul':
    case 'blockquote':
      return <Tag key={key}>{content}</Tag>
    default:
      return (
        <Tag key={key} dir="auto">
          {content}
        </Tag>
      )
  }
}

/** Relative links and links with other schemes are shown as text. */
function externalLink(href: string, content: ComponentChildren, key: number): ComponentChildren {
  const url = safeUrl(href)
  return url ? (
    <a key={key} href={url} target="_blank" rel="noopener noreferrer nofollow">
      {content}
    </a>
  ) : (
    content
  )
}
