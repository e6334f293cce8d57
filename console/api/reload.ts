import { useEffect } from 'preact/hooks'
import { reload } from './queries.ts'

const intervalMs = 3000

/** Loads the data of a kind again and again, as long as something that the page shows is unfinished. */
export function useReload(kind: string, isUnfinished: boolean): void {
  useEffect(() => {
    if (!isUnfinished) return
    const timer = setInterval(() => {
      if (!document.hidden) void reload([kind])
    }, intervalMs)
    return () => clearInterval(timer)
  }, [kind, isUnfinished])
}
