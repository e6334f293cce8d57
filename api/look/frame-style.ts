import { palette } from './palette.ts'

/**
 * The style that the console and the reference share: colours, sizes, the link that skips the
 * navigation, and the bar at the top. Rules of a page override it: those of the console are in
 * later layers, and those of the reference are outside all layers.
 */
export const frameStyle = `${palette}@layer base, frame;
@layer frame {
  :root { --hair: color-mix(in srgb, var(--ink) 12%, transparent); --hover: color-mix(in srgb, var(--ink) 5%, transparent);
    --selected: color-mix(in srgb, var(--leaf) 13%, transparent); --radius: 6px; --top: 3rem;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", monospace }
  * { box-sizing: border-box }
  html { scroll-padding-top: calc(var(--top) + 1rem) }
  body { margin: 0; background: var(--paper); color: var(--ink); accent-color: var(--leaf) }
  [hidden] { display: none !important }
  :focus-visible { outline: 2px solid var(--leaf); outline-offset: 1px; border-radius: 4px }
  .skip-link { position: fixed; top: -4rem; left: 0.75rem; z-index: 20; padding: 0.5rem 0.75rem; background: var(--card);
    border-radius: var(--radius) }
  .skip-link:focus { top: 0.5rem }
  .top-bar { position: sticky; top: 0; z-index: 5; height: var(--top); display: flex; align-items: center; gap: 0.75rem;
    padding: 0 1rem; background: var(--card); border-bottom: 1px solid var(--hair) }
  .brand { display: flex; align-items: center; gap: 0.4rem; color: var(--leaf); font-weight: 650; text-decoration: none;
    white-space: nowrap }
}
`
