// Bars that show sizes. Drawn as SVG, because the Content-Security-Policy forbids style attributes.

/** One size, such as that of a layer, relative to the largest one. */
export const SizeBar = ({ size, max }: { size: number; max: number }) => (
  <svg class="size-bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
    <rect width={max > 0 ? Math.max((size / max) * 100, 0.5) : 0} height="1" />
  </svg>
)

/** All parts side by side. */
export function StackedSizes({ sizes, label }: { sizes: readonly number[]; label: string }) {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  let at = 0
  return (
    <svg class="stacked-sizes" viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label={label}>
      {sizes.map((size, index) => {
        const x = at
        const width = total > 0 ? (size / total) * 100 : 0
        at += width
        return <rect key={index} x={x} width={width} height="1" class={`tone-${index % 4}`} />
      })}
    </svg>
  )
}
