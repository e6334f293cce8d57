import type {
  DescExtension,
  DescField,
  DescMethod,
  DescService,
  ExtensionValueShape,
} from '@bufbuild/protobuf'
import { getOption, hasOption } from '@bufbuild/protobuf'

type Element = DescField | DescMethod | DescService

/** The values of each option, by the element that has it. A cache, because decoding a value takes 30 µs. */
const cachedValues = new WeakMap<DescExtension, WeakMap<Element, unknown>>()

/** Reads an option of the contract. Returns undefined if the element does not set it. */
export function optionOf<Option extends DescExtension>(
  element: Element,
  option: Option,
): ExtensionValueShape<Option> | undefined {
  // The option decides the type of the element; hasOption returns false for all others.
  const owner = element as never
  if (!hasOption(owner, option)) return undefined
  const values = cachedValues.get(option) ?? new WeakMap<Element, unknown>()
  cachedValues.set(option, values)
  if (!values.has(element)) values.set(element, getOption(owner, option))
  return values.get(element) as ExtensionValueShape<Option>
}
