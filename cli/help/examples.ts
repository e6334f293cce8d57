// Examples for help, from the options of methods. A test parses every one of them as `stemma` would.
import { getOption } from '@bufbuild/protobuf'
import { examples } from '@stemma/api/gen/platform/common/resource_pb.ts'
import type { Command } from '../contract/commands.ts'

export const examplesOf = ({ method }: Command): string[] => getOption(method.desc, examples)
