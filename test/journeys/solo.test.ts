import { journeys } from './journeys.ts'

journeys('solo')
