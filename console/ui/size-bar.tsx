// Sizes as pictures. Drawn as SVG, because the policy of the page forbids computed styles in attributes.

/** One part of a whole, such as a layer beside the largest one. */
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
