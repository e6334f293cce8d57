// The people and workloads that get a role: one, or several at once.
import { findIdentities } from '../../api/find-identities.ts'
import { IconButton } from '../../ui/button.tsx'
import { Combobox } from '../../ui/combobox.tsx'
import type { Option } from '../../ui/suggestions.ts'

/** The most role bindings that the API creates in one call. */
const mostAtOnce = 25

export type IdentitiesFieldProps = {
  root: string
  chosen: readonly Option[]
  problem: string | undefined
  onChange(chosen: readonly Option[]): void
}

export const IdentitiesField = ({ root, chosen, problem, onChange }: IdentitiesFieldProps) => (
  <>
    <Combobox
      label="Person or workload"
      name="identity"
      required={chosen.length === 0}
      choosesSeveral
      find={findIdentities(root)}
      hint={`Choose one, or up to ${mostAtOnce} who get the same role.`}
      problem={chosen.length > mostAtOnce ? `At most ${mostAtOnce} at once.` : problem}
      onChoose={(option) => option && onChange([...without(chosen, option), option])}
    />
    {chosen.length > 0 && (
      <ul class="chosen" aria-label="Chosen">
        {chosen.map((option) => (
          <li key={option.value}>
            <span dir="auto">{option.label}</span> <span class="quiet small">{option.detail}</span>
            <IconButton
              icon="close"
              label={`Remove ${option.label}`}
              onClick={() => onChange(without(chosen, option))}
            />
          </li>
        ))}
      </ul>
    )}
  </>
)

const without = (options: readonly Option[], { value }: Option) =>
  options.filter((option) => option.value !== value)
