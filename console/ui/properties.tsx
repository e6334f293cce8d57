import type { ComponentChildren } from 'preact'

/** Names and values of one thing. Rows without a value are left out. */
export const Properties = ({
  rows,
}: {
  rows: readonly (readonly [name: string, value: ComponentChildren])[]
}) => (
  <dl class="properties">
    {rows
      .filter(([, value]) => value !== undefined && value !== '' && value !== null && value !== false)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
  </dl>
)
