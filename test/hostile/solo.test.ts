import { attacks } from './attacks.ts'

attacks('solo')
