import { type Static, Type } from 'typebox'

export const ServerSettings = Type.Object({ name: Type.String() })
export type ServerSettings = Static<typeof ServerSettings>
