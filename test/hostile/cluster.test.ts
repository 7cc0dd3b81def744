import { attacks } from './attacks.ts'

attacks('cluster')
