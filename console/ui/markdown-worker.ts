// Parses Markdown in a worker. The page imports this file only for its URL: the bundle gives the file a name that
// contains its hash.
import { parseMarkdown } from './markdown-nodes.ts'

export const workerUrl = import.meta.url

const isWorker = typeof document === 'undefined'
if (isWorker)
  addEventListener('message', ({ data }: MessageEvent<string>) => {
    postMessage(parseMarkdown(data))
  })
